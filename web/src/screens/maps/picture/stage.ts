/** What stands on the map: objects where and as their values say, and their trails. */
import { Appearance } from "./appearance";
import type { Place } from "./fields";
import type { Kept } from "./replay";
import { Scene } from "./scene";
import { Trails } from "./trails";

export class Stage {
  scene = new Scene();
  readonly trails = new Trails();
  readonly appearance: Appearance;
  /** Those with something wrong, and those whose values say no place. */
  readonly faulty = new Set<string>();
  readonly placeless = new Set<string>();
  /** Calls for a new drawing. */
  changed = true;
  private withTrails = false;

  constructor(
    place: Place,
    private readonly entries: ReadonlyMap<string, Kept>,
  ) {
    this.appearance = new Appearance(place);
  }

  /** Take everything away, and show all entries. */
  begin() {
    this.scene = new Scene();
    this.trails.clear();
    this.faulty.clear();
    this.placeless.clear();
    this.show(this.entries.keys(), true);
  }

  trailsOfAll(on: boolean) {
    this.withTrails = on;
    this.trails.clear();
    this.changed = true;
  }

  /** The entries of these keys have changed: their objects move, or jump, to where they are now. */
  show(keys: Iterable<string>, jump: boolean, now = performance.now()) {
    if (jump) this.trails.clear();
    for (const key of keys) {
      const kept = this.entries.get(key);
      const placed = kept !== undefined && this.put(key, kept, jump, now);
      if (!placed) {
        this.scene.remove(key);
        this.faulty.delete(key);
      }
      if (kept && !placed) this.placeless.add(key);
      else this.placeless.delete(key);
    }
    this.changed = true;
  }

  /** Make the scale of the colours anew. */
  rescale() {
    this.appearance.rescale(this.entries.values());
    this.restyle();
  }

  restyle() {
    for (const [slot, key] of this.scene.keys.entries()) {
      const kept = this.entries.get(key);
      if (kept) this.scene.look(slot, this.lookOf(key, kept));
    }
    this.changed = true;
  }

  private put(key: string, kept: Kept, jump: boolean, now: number): boolean {
    const place = this.appearance.placeOf(kept.value);
    if (!place) return false;
    const look = this.lookOf(key, kept);
    const before = this.withTrails && !jump ? this.scene.position(key, now) : null;
    this.scene.put(key, place, look, now, jump);
    if (before) this.trails.add(before, place, kept.at, look.colour);
    return true;
  }

  private lookOf(key: string, kept: Kept) {
    const look = this.appearance.lookOf(kept);
    if (look.fault) this.faulty.add(key);
    else this.faulty.delete(key);
    return look;
  }
}

/** The map and the objects above it, in an element of the page. */
import "maplibre-gl/dist/maplibre-gl.css";
import { type GeoJSONSource, Map as MapLibreMap, NavigationControl, ScaleControl, setWorkerUrl } from "maplibre-gl";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?url";
import { baseStyle, fillBaseMap } from "./baseMap";
import { degrees, mercator } from "./mercator";
import { Painter, type View } from "./painter";
import type { Picture } from "./picture";

setWorkerUrl(workerUrl);

const NEAREST_PX = 14;
const MOST_ZOOM = 15;
const TRAIL = 400;
const TRAIL_MS = 500;
/** A drawing of the map draws the objects too; none is needed again so soon. */
const JUST_MS = 6;

export type Settings = {
  dark: boolean;
  stale: number;
  trails: boolean;
  follow: string | null;
  selected: string | null;
};
type Told = { pointed: (key: string | null, x: number, y: number) => void; chosen: (key: string | null) => void };

export class PictureView {
  private readonly map: MapLibreMap;
  private readonly painter: Painter;
  private readonly canvas: HTMLCanvasElement;
  private frame = 0;
  private drawn = 0;
  private view: View | null = null;
  private frames = { count: 0, since: 0 };
  private trailAt = 0;
  private fitted = false;
  private readonly calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  constructor(
    private readonly element: HTMLElement,
    private readonly picture: Picture,
    private settings: Settings,
    private readonly told: Told,
  ) {
    this.map = new MapLibreMap({
      container: element,
      style: baseStyle(settings.dark),
      center: [-96, 39],
      zoom: 3,
      maxZoom: MOST_ZOOM,
      maxPitch: 0,
      dragRotate: false,
      pitchWithRotate: false,
      touchPitch: false,
      renderWorldCopies: false,
      attributionControl: false,
      fadeDuration: 0,
      locale: { "Map.Title": "Map; the list shows the same objects in words" },
    });
    this.map.touchZoomRotate.disableRotation();
    this.map.keyboard.disableRotation();
    this.map.addControl(new NavigationControl({ showCompass: false }));
    this.map.addControl(new ScaleControl());
    this.canvas = document.createElement("canvas");
    this.canvas.className = "picture-objects";
    this.canvas.setAttribute("aria-hidden", "true");
    Object.assign(this.canvas.style, {
      position: "absolute",
      inset: "0",
      width: "100%",
      height: "100%",
      pointerEvents: "none",
    });
    this.map.getCanvasContainer().append(this.canvas);
    this.painter = new Painter(this.canvas);
    this.map.on("style.load", () => {
      fillBaseMap(this.map);
      this.trailAt = 0;
    });
    this.map.on("render", () => {
      this.look();
      this.draw(performance.now());
    });
    this.map.on("mousemove", ({ point }) => {
      const key = this.keyAt(point.x, point.y);
      this.map.getCanvas().style.cursor = key === null ? "" : "pointer";
      this.told.pointed(key, point.x, point.y);
    });
    this.map.on("mouseout", () => this.told.pointed(null, 0, 0));
    this.map.on("click", ({ point }) => this.told.chosen(this.keyAt(point.x, point.y)));
    this.frame = requestAnimationFrame(this.onFrame);
  }

  set(settings: Settings) {
    const before = this.settings;
    this.settings = settings;
    if (before.dark !== settings.dark) this.map.setStyle(baseStyle(settings.dark), { diff: false });
    if (before.follow !== settings.follow) {
      this.trailAt = 0;
      if (settings.follow !== null) this.come(settings.follow);
      else this.showTrail([]);
    }
    this.picture.stage.changed = true;
  }

  /** Show all objects. */
  fit() {
    const bounds = this.picture.stage.scene.bounds();
    if (!bounds) return;
    const corners = bounds.map((corner) => degrees(corner)).map(({ longitude, latitude }) => [longitude, latitude]);
    this.map.fitBounds(corners as [[number, number], [number, number]], { padding: 40, maxZoom: 9, animate: false });
  }

  destroy() {
    cancelAnimationFrame(this.frame);
    this.map.remove();
  }

  private readonly onFrame = (now: number) => {
    this.frame = requestAnimationFrame(this.onFrame);
    const { picture, settings } = this;
    picture.tick(now);
    if (!this.fitted && picture.stage.scene.count) {
      this.fitted = true;
      this.fit();
      if (settings.follow !== null) this.come(settings.follow);
    }
    if (settings.follow !== null) this.centre(settings.follow, now);
    const due = picture.stage.changed || now < picture.stage.scene.movingUntil + 50;
    if (due && performance.now() - this.drawn > JUST_MS) this.draw(performance.now());
    this.count(now);
  };

  /** The map below stands still: only the objects are drawn. */
  private draw(now: number) {
    if (!this.view) return;
    const { picture, settings } = this;
    picture.stage.changed = false;
    this.drawn = now;
    this.frames.count += 1;
    this.painter.draw(this.view, picture.stage.scene, settings.trails ? picture.stage.trails : null, {
      now: this.calm ? Number.POSITIVE_INFINITY : now,
      mapNow: picture.moment,
      stale: settings.stale,
      ringed: settings.selected ?? settings.follow,
      dark: settings.dark,
    });
  }

  private look() {
    const { lng, lat } = this.map.getCenter();
    const { clientWidth: width, clientHeight: height } = this.element;
    const density = Math.min(2, window.devicePixelRatio || 1);
    this.view = { centre: mercator(lng, lat), zoom: this.map.getZoom(), width, height, density };
  }

  private come(key: string) {
    const place = this.picture.stage.scene.position(key, performance.now());
    if (!place) return;
    const { longitude, latitude } = degrees(place);
    this.map.jumpTo({ center: [longitude, latitude], zoom: Math.max(7, this.map.getZoom()) });
  }

  /** Keep a key in the middle, unless the reader is just moving the map. */
  private centre(key: string, now: number) {
    if (now - this.trailAt > TRAIL_MS) {
      this.trailAt = now;
      this.showTrail(this.wayTo(key, now));
    }
    const place = this.picture.stage.scene.position(key, this.calm ? Number.POSITIVE_INFINITY : now);
    if (!place || !this.view || this.map.isMoving()) return;
    const away = Math.hypot(place.x - this.view.centre.x, place.y - this.view.centre.y) * 512 * 2 ** this.view.zoom;
    if (away < 1) return;
    const { longitude, latitude } = degrees(place);
    this.map.jumpTo({ center: [longitude, latitude] });
    this.map.redraw();
  }

  /** Up to where it is now: where it goes to next is not shown yet. */
  private wayTo(key: string, now: number): [number, number][] {
    const place = this.picture.stage.scene.position(key, now);
    if (!place) return [];
    const { longitude, latitude } = degrees(place);
    return [...this.picture.wayOf(key, TRAIL).slice(0, -1), [longitude, latitude]];
  }

  private showTrail(way: [number, number][]) {
    const coordinates = way.length > 1 ? way : [];
    const source = this.map.getSource("trail") as GeoJSONSource | undefined;
    source?.setData({ type: "Feature", properties: {}, geometry: { type: "LineString", coordinates } });
  }

  private keyAt(x: number, y: number): string | null {
    const { lng, lat } = this.map.unproject([x, y]);
    const most = NEAREST_PX / (512 * 2 ** this.map.getZoom());
    return this.picture.stage.scene.nearest(mercator(lng, lat), most, performance.now());
  }

  /** How smooth it is, for measurements: drawings in the last second. */
  private count(now: number) {
    if (now - this.frames.since < 1000) return;
    this.element.dataset.frames = String(Math.round((1000 * this.frames.count) / (now - this.frames.since)));
    this.element.dataset.objects = String(this.picture.stage.scene.count);
    this.frames = { count: 0, since: now };
  }
}

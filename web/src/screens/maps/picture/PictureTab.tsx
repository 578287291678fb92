import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { answered, api, type MapEntry, type MapFacts } from "../../../api/client";
import { Empty, Loaded } from "../../../parts/Trouble";
import { useMapChanges } from "../useMapChanges";
import { FieldPicker } from "./FieldPicker";
import { fieldsOf, placeFields } from "./fields";
import { Moving } from "./Moving";
import { remember, remembered } from "./remembered";

const route = getRouteApi("/maps/$map");
/** So many entries tell what fields there are. */
const SAMPLE = 200;

/** The objects of a map where they are: any map whose values have coordinates. */
export default function PictureTab({ facts }: { facts: MapFacts }) {
  const { prefix = "" } = route.useSearch();
  const sample = useQuery({
    queryKey: ["map", facts.name, "sample", prefix],
    queryFn: ({ signal }) => {
      const params = { path: { name: facts.name }, query: { prefix, limit: SAMPLE } };
      return answered(api.GET("/api/v1/maps/{name}/entries", { params, signal }));
    },
  });
  // A map that was empty is looked at again once something has been written.
  useMapChanges(facts, 2000, () => {
    if (sample.data?.length === 0) void sample.refetch();
  });
  return (
    <Loaded query={sample} height={500}>
      {(entries) =>
        entries.length === 0 ? (
          <Empty title={prefix ? "No key begins so" : "There is nothing to draw yet"}>
            The picture begins with the map's first entry.
          </Empty>
        ) : (
          <WithFields facts={facts} prefix={prefix} entries={entries} />
        )
      }
    </Loaded>
  );
}

function WithFields({ facts, prefix, entries }: { facts: MapFacts; prefix: string; entries: MapEntry[] }) {
  const search = route.useSearch();
  const go = useNavigate({ from: "/maps/$map" });
  const [picking, setPicking] = useState(false);
  const values = useMemo(() => entries.map((entry) => entry.value), [entries]);
  const fields = useMemo(() => fieldsOf(values), [values]);
  const found = useMemo(() => placeFields(values), [values]);
  // The address says it first, then what was chosen before, as long as the values have such fields.
  const before = remembered(facts.name);
  const has = (path: string | undefined) => fields.some((field) => field.path === path);
  const usual = has(before.longitude) && has(before.latitude) ? before : found;
  const { longitude = usual?.longitude, latitude = usual?.latitude } = search;
  if (longitude === undefined || latitude === undefined || picking) {
    return (
      <FieldPicker
        fields={fields}
        longitude={longitude}
        latitude={latitude}
        onPick={(place) => {
          setPicking(false);
          remember(facts.name, place);
          void go({ search: { ...search, ...place } });
        }}
        onCancel={picking ? () => setPicking(false) : undefined}
      />
    );
  }
  return (
    <Moving
      key={JSON.stringify([prefix, longitude, latitude, facts.journal_capacity > 0])}
      facts={facts}
      prefix={prefix}
      place={{ longitude, latitude }}
      fields={fields}
      onPick={() => setPicking(true)}
    />
  );
}

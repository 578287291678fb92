import { Stack, Tabs, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { answered, api, type Job } from "../../api/client";
import { keys, useJobs } from "../../api/queries";
import { jobNamed } from "../../logic/jobNamed";
import { tabFrom } from "../../logic/tabs";
import { Loaded } from "../../parts/Trouble";
import { ActionBar } from "./actions/ActionBar";
import { Header } from "./Header";
import classes from "./job.module.css";
import { TABS } from "./logic/tabs";
import { Overview } from "./overview/Overview";
import { Configuration } from "./tabs/Configuration";
import { Events } from "./tabs/Events";
import { Log } from "./tabs/Log";
import { Snapshots } from "./tabs/Snapshots";
import { Tasks } from "./tabs/Tasks";
import { Versions } from "./tabs/Versions";

const route = getRouteApi("/jobs/$job");

/** One job: what it is, how it does, and all that can be done with it. */
export function JobScreen() {
  const wanted = route.useParams().job;
  const jobs = useJobs();
  const job = jobNamed(jobs.data, wanted);
  if (job) return <OneJob key={job.id} job={job} />;
  return (
    <Loaded query={jobs} height={400}>
      {() => <NotListed wanted={wanted} />}
    </Loaded>
  );
}

/** A job that the list does not have: the server says why. */
function NotListed({ wanted }: { wanted: string }) {
  const query = useQuery({
    queryKey: keys.job(wanted, "status"),
    queryFn: ({ signal }) => answered(api.GET("/api/v1/jobs/{job}", { params: { path: { job: wanted } }, signal })),
  });
  if (query.data) return <OneJob job={query.data} />;
  return (
    <Stack>
      <Title order={1} size="h2" className={classes.name}>
        {wanted}
      </Title>
      <Loaded query={query} height={400}>
        {() => null}
      </Loaded>
    </Stack>
  );
}

function OneJob({ job }: { job: Job }) {
  const tab = tabFrom(TABS, route.useSearch().tab, "overview");
  const go = useNavigate({ from: "/jobs/$job" });
  const show = (next: string | null) =>
    void go({ search: { tab: next === "overview" || next === null ? undefined : next } });
  return (
    <Stack>
      <Header job={job} />
      <ActionBar job={job} />
      <Tabs value={tab} onChange={show} keepMounted={false}>
        <Tabs.List mb="md">
          {Object.entries(TABS).map(([value, label]) => (
            <Tabs.Tab key={value} value={value}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="overview">
          <Overview job={job} />
        </Tabs.Panel>
        <Tabs.Panel value="snapshots">
          <Snapshots job={job} />
        </Tabs.Panel>
        <Tabs.Panel value="versions">
          <Versions job={job} />
        </Tabs.Panel>
        <Tabs.Panel value="configuration">
          <Configuration job={job} />
        </Tabs.Panel>
        <Tabs.Panel value="log">
          <Log job={job} />
        </Tabs.Panel>
        <Tabs.Panel value="tasks">
          <Tasks job={job} />
        </Tabs.Panel>
        <Tabs.Panel value="events">
          <Events job={job} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

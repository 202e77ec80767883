import type { ClusterBody } from "@mainspring/contract";
import { Empty, Failure, Loading } from "../parts/failure.tsx";
import { Figure } from "../parts/figure.tsx";
import { type Column, Table } from "../parts/list.tsx";
import { Name, State, Time } from "../parts/text.tsx";
import { may } from "../state/session.ts";
import { useAnswer } from "../state/use-answer.ts";
import { countText } from "../text/figures.ts";
import { durationText } from "../text/times.ts";
import { TEXTS } from "../texts.ts";

const LIVE_MS = 2_000;
const COUNTED_UP_TO = 10_000;
type Node = ClusterBody["nodes"][number];
const COLUMNS: Column<Node>[] = [
  { title: TEXTS.address, cell: ({ address }) => <Name of={address} /> },
  { title: TEXTS.state, cell: ({ state, isCutOff }) => <State of={isCutOff ? TEXTS.cutOff : state} /> },
  { title: TEXTS.roles, cell: ({ roles }) => roles.join(", ") },
  { title: TEXTS.shards, cell: ({ shards }) => shards },
  { title: TEXTS.workers, cell: ({ workers }) => (workers === null ? "–" : countText(workers)) },
  { title: TEXTS.version, cell: ({ version }) => version },
  { title: TEXTS.level, cell: ({ level }) => level },
  { title: TEXTS.started, cell: ({ startedAt }) => <Time at={startedAt} /> },
  { title: TEXTS.renewed, cell: ({ renewedAgoMs }) => TEXTS.ago(durationText(renewedAgoMs)) },
];

/** Nodes of the cluster, and how far they are behind. */
export function ClusterPage() {
  const { data, failure, reload } = useAnswer<ClusterBody>(may("system:admin") ? "cluster" : null, LIVE_MS);
  if (!may("system:admin")) return <Empty title={TEXTS.clusterForbidden} help={TEXTS.clusterForbiddenHelp} />;
  if (data === null) return failure === null ? <Loading /> : <Failure of={failure} retry={reload} />;
  const { lag, nodes, shards } = data;
  const unowned = shards.filter(({ nodeId }) => nodeId === null).length;
  return (
    <>
      <Failure of={failure} retry={reload} />
      <dl class="figures">
        <Figure title={TEXTS.nodes}>{nodes.filter(({ state }) => state !== "GONE").length}</Figure>
        <Figure title={TEXTS.ready}>{countText(lag.ready, COUNTED_UP_TO)}</Figure>
        <Figure title={TEXTS.oldestReady}>
          {lag.oldestReadyMs === null ? TEXTS.none : durationText(lag.oldestReadyMs)}
        </Figure>
        <Figure title={TEXTS.level}>{data.level}</Figure>
      </dl>
      {unowned > 0 && <p role="status">{TEXTS.unowned(unowned, shards.length)}</p>}
      <Table caption={TEXTS.nodes} rows={nodes.slice(0, 200)} keyOf={({ nodeId }) => nodeId} columns={COLUMNS} />
    </>
  );
}

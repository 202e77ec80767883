import type { AuditRecordBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import { type Filter, Filters } from "../../parts/filters.tsx";
import { JsonView } from "../../parts/json-view.tsx";
import { lazily } from "../../parts/lazily.tsx";
import { type Column, List, useList } from "../../parts/list.tsx";
import { Name, State, Time } from "../../parts/text.tsx";
import { may } from "../../state/session.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";
import { TEXTS } from "../../texts.ts";

const Verification = lazily(async () => (await import("./verification.tsx")).Verification);
const LIVE_MS = 5_000;
const FILTERS: Filter[] = [
  { name: "actor", label: ACCESS_TEXTS.actorKey },
  { name: "action", label: ACCESS_TEXTS.action, hint: "putPool" },
  { name: "target", label: ACCESS_TEXTS.target },
  { name: "since", label: ACCESS_TEXTS.recordsSince, hint: TEXTS.timeHint },
];

const keyOf = ({ chain, seq }: AuditRecordBody) => `${chain} ${seq}`;

/** Records of the audit log, newest first, and how to verify them. */
export function AuditPage() {
  const answer = useList<AuditRecordBody>("audit", FILTERS, LIVE_MS);
  const [opened, setOpened] = useState<string | null>(null);
  const columns: Column<AuditRecordBody>[] = [
    { title: ACCESS_TEXTS.at, cell: ({ at }) => <Time at={at} /> },
    {
      title: ACCESS_TEXTS.actor,
      cell: ({ actor }) => <Name of={[actor.kind, actor.keyId].filter(Boolean).join(" ")} />,
    },
    { title: TEXTS.tenant, cell: ({ tenant }) => <Name of={tenant} /> },
    { title: ACCESS_TEXTS.action, cell: ({ action }) => <Name of={action} /> },
    { title: ACCESS_TEXTS.target, cell: ({ target }) => <Name of={target} /> },
    { title: ACCESS_TEXTS.outcome, cell: ({ outcome }) => <State of={outcome} /> },
    { title: ACCESS_TEXTS.address, cell: ({ address }) => <Name of={address} /> },
    {
      title: ACCESS_TEXTS.detail,
      cell: (record) => (
        <button type="button" class="quiet" onClick={() => setOpened(keyOf(record))}>
          {ACCESS_TEXTS.detail}
        </button>
      ),
    },
  ];
  const shown = answer.data?.items.find((record) => keyOf(record) === opened);
  return (
    <>
      <Filters filters={FILTERS} />
      {shown !== undefined && (
        <section class="panel">
          <h2>
            <Name of={shown.action} />
          </h2>
          <JsonView value={shown} label={ACCESS_TEXTS.detail} />
          <button type="button" class="quiet" onClick={() => setOpened(null)}>
            {TEXTS.close}
          </button>
        </section>
      )}
      <List
        caption={ACCESS_TEXTS.audit}
        answer={answer}
        columns={columns}
        keyOf={keyOf}
        empty={{ title: ACCESS_TEXTS.auditNone, help: ACCESS_TEXTS.auditNoneHelp }}
      />
      {may("system:admin") && <Verification />}
    </>
  );
}

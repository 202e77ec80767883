import type { TenantBody } from "@mainspring/contract";
import { ask } from "../../api/client.ts";
import { Form } from "../../parts/form.tsx";
import { type Column, List, useList } from "../../parts/list.tsx";
import { Name, State, Time } from "../../parts/text.tsx";
import { linkTo } from "../../state/route.ts";
import { countText } from "../../text/figures.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";
import { TEXTS } from "../../texts.ts";

const LIVE_MS = 10_000;

const limitText = (limit: number | null) => (limit === null ? ACCESS_TEXTS.noLimit : countText(limit));

const COLUMNS: Column<TenantBody>[] = [
  {
    title: TEXTS.name,
    cell: ({ name }) => (
      <a href={linkTo(["tenants", name])}>
        <Name of={name} />
      </a>
    ),
  },
  { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
  { title: ACCESS_TEXTS.weight, cell: ({ weight }) => weight },
  { title: ACCESS_TEXTS.quotas.maxRunning, cell: ({ maxRunning }) => limitText(maxRunning) },
  { title: ACCESS_TEXTS.quotas.maxWaiting, cell: ({ maxWaiting }) => limitText(maxWaiting) },
  { title: ACCESS_TEXTS.quotas.submitsPerSec, cell: ({ submitsPerSec }) => limitText(submitsPerSec) },
  { title: TEXTS.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The list of tenants, by name. */
export function TenantsPage() {
  const answer = useList<TenantBody>("tenants", [], LIVE_MS);
  const create = (given: Record<string, string>) => ask("tenants", { method: "POST", body: given });
  return (
    <>
      <Form
        label={ACCESS_TEXTS.createTenant}
        fields={[{ name: "name", label: ACCESS_TEXTS.tenantName, isRequired: true }]}
        act={create}
        done={answer.reload}
      />
      <List
        caption={ACCESS_TEXTS.tenants}
        answer={answer}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        empty={{ title: ACCESS_TEXTS.tenantsNone, help: ACCESS_TEXTS.tenantsNoneHelp }}
      />
    </>
  );
}

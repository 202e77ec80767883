import type { ApiKeyBody, CreatedApiKeyBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import { ask } from "../../api/client.ts";
import { type Column, List, useList } from "../../parts/list.tsx";
import { SureButton } from "../../parts/sure-button.tsx";
import { Name, State, Time } from "../../parts/text.tsx";
import { visible } from "../../text/visible.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";
import { TEXTS } from "../../texts.ts";
import { CreateKey } from "./create-key.tsx";
import { NewKey } from "./new-key.tsx";

const LIVE_MS = 10_000;

const COLUMNS: Column<ApiKeyBody>[] = [
  { title: TEXTS.name, cell: ({ name }) => <Name of={name} /> },
  {
    title: ACCESS_TEXTS.hint,
    cell: ({ hint, keyId }) => (
      <code class="id" title={keyId}>
        {hint}
      </code>
    ),
  },
  { title: ACCESS_TEXTS.kind, cell: ({ kind }) => kind },
  { title: TEXTS.state, cell: ({ state }) => <State of={state} /> },
  { title: TEXTS.tenant, cell: ({ tenant }) => <Name of={tenant} /> },
  { title: ACCESS_TEXTS.scopes, cell: ({ scopes }) => <bdi>{scopes.join(", ")}</bdi> },
  { title: TEXTS.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: ACCESS_TEXTS.lastUsed, cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
  {
    title: ACCESS_TEXTS.expires,
    cell: ({ expiresAt }) => (expiresAt === null ? ACCESS_TEXTS.never : <Time at={expiresAt} />),
  },
];

/** API keys: what each may do and when it was used, and the ways to create, rotate and revoke one. */
export function KeysPage() {
  const answer = useList<ApiKeyBody>("api-keys", [], LIVE_MS);
  const [made, setMade] = useState<CreatedApiKeyBody | null>(null);
  const show = (key: CreatedApiKeyBody) => {
    setMade(key);
    answer.reload();
  };
  const actions = {
    title: ACCESS_TEXTS.actions,
    cell: (key: ApiKeyBody) => key.state === "ACTIVE" && <KeyActions of={key} show={show} reload={answer.reload} />,
  };
  return (
    <>
      {made === null ? <CreateKey show={show} /> : <NewKey of={made} putAway={() => setMade(null)} />}
      <List
        caption={ACCESS_TEXTS.keys}
        answer={answer}
        columns={[...COLUMNS, actions]}
        keyOf={({ keyId }) => keyId}
        empty={{ title: ACCESS_TEXTS.keysNone, help: ACCESS_TEXTS.keysNoneHelp }}
      />
    </>
  );
}

interface KeyActionsProps {
  of: ApiKeyBody;
  show(key: CreatedApiKeyBody): void;
  reload(): void;
}

function KeyActions({ of: { keyId, name, hint }, show, reload }: KeyActionsProps) {
  const path = `api-keys/${keyId}`;
  const who = visible(`${name} (${hint})`);
  const rotate = async () => show(await ask<CreatedApiKeyBody>(`${path}/rotate`, { method: "POST", body: {} }));
  return (
    <span class="row">
      <SureButton label={ACCESS_TEXTS.rotate} help={ACCESS_TEXTS.rotateSure(who)} act={rotate} />
      <SureButton
        label={ACCESS_TEXTS.revoke}
        help={ACCESS_TEXTS.revokeSure(who)}
        act={() => ask(path, { method: "DELETE" })}
        done={reload}
      />
    </span>
  );
}

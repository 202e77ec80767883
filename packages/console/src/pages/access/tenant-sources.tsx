import type { TenantBody } from "@mainspring/contract";
import { TENANT_SOURCE_KINDS } from "@mainspring/contract/enums";
import { ask } from "../../api/client.ts";
import { Form } from "../../parts/form.tsx";
import { Table } from "../../parts/list.tsx";
import { SureButton } from "../../parts/sure-button.tsx";
import { Name } from "../../parts/text.tsx";
import { visible } from "../../text/visible.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";
import { TEXTS } from "../../texts.ts";

/** Rows in the document at most. */
const SOURCES_MAX = 100;

/** Database roles and topics whose requests belong to a tenant. */
export function Sources({ tenant: { name, sources }, reload }: { tenant: TenantBody; reload(): void }) {
  const pathOf = (kind: string, source: string) => `tenants/${name}/sources/${kind}/${encodeURIComponent(source)}`;
  return (
    <section>
      <h2>{ACCESS_TEXTS.sources}</h2>
      <p class="dim">{ACCESS_TEXTS.sourcesHelp}</p>
      {sources.length === 0 && <p class="dim">{ACCESS_TEXTS.sourcesNone}</p>}
      {sources.length > 0 && (
        <Table
          caption={ACCESS_TEXTS.sources}
          rows={sources.slice(0, SOURCES_MAX)}
          keyOf={(source) => `${source.kind} ${source.name}`}
          columns={[
            { title: ACCESS_TEXTS.kind, cell: ({ kind }) => ACCESS_TEXTS.sourceKinds[kind] },
            { title: TEXTS.name, cell: (source) => <Name of={source.name} /> },
            {
              title: ACCESS_TEXTS.actions,
              cell: (source) => (
                <SureButton
                  label={ACCESS_TEXTS.unbind}
                  help={ACCESS_TEXTS.unbindSure(visible(source.name))}
                  act={() => ask(pathOf(source.kind, source.name), { method: "DELETE" })}
                  done={reload}
                />
              ),
            },
          ]}
        />
      )}
      <Form
        label={ACCESS_TEXTS.bind}
        help={ACCESS_TEXTS.bindHelp}
        fields={[
          { name: "kind", label: ACCESS_TEXTS.kind, values: TENANT_SOURCE_KINDS },
          { name: "source", label: TEXTS.name, isRequired: true },
        ]}
        act={({ kind = "", source = "" }) => ask(pathOf(kind, source), { method: "PUT" })}
        done={reload}
      />
    </section>
  );
}

import type { TenantBody, TenantPatch, TenantUsageBody } from "@mainspring/contract";
import { ask } from "../../api/client.ts";
import { Failure, Loading } from "../../parts/failure.tsx";
import { Figure } from "../../parts/figure.tsx";
import { Form } from "../../parts/form.tsx";
import { Table } from "../../parts/list.tsx";
import { SureButton } from "../../parts/sure-button.tsx";
import { Name, State } from "../../parts/text.tsx";
import { hrefOf } from "../../state/route.ts";
import { useAnswer } from "../../state/use-answer.ts";
import { countText } from "../../text/figures.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";
import { TEXTS } from "../../texts.ts";
import { Sources } from "./tenant-sources.tsx";

/** The tenant of the operators, which cannot be deleted. */
const DEFAULT_TENANT = "default";
const EVERY_MS = 5_000;
type Quota = keyof typeof ACCESS_TEXTS.quotas;
const QUOTAS = Object.keys(ACCESS_TEXTS.quotas) as Quota[];

/** One tenant: what it uses of its quotas, and its settings. */
export function TenantPage({ id }: { id: string }) {
  const path = `tenants/${encodeURIComponent(id)}`;
  const tenant = useAnswer<TenantBody>(path, EVERY_MS);
  const usage = useAnswer<TenantUsageBody>(`${path}/usage`, EVERY_MS);
  const change = (body: TenantPatch) => ask(path, { method: "PATCH", body });
  const { data, failure, reload } = tenant;
  return (
    <>
      <Failure of={failure ?? usage.failure} retry={reload} />
      {data === null && failure === null && <Loading />}
      {data !== null && (
        <>
          <p>
            <Name of={data.name} /> <State of={data.state} />
          </p>
          <Actions tenant={data} {...{ change, reload }} />
          {usage.data !== null && <Counts usage={usage.data} />}
          <Quotas tenant={data} usage={usage.data} />
          <ChangeQuotas tenant={data} {...{ change, reload }} />
          <Facts tenant={data} />
          {data.state !== "DELETING" && <Sources tenant={data} reload={reload} />}
        </>
      )}
    </>
  );
}

interface ChangeProps {
  tenant: TenantBody;
  change(body: TenantPatch): Promise<unknown>;
  reload(): void;
}

function Actions({ tenant: { name, state, version }, change, reload }: ChangeProps) {
  if (state === "DELETING") return <p role="status">{ACCESS_TEXTS.deleting}</p>;
  const remove = () => ask(`tenants/${name}`, { method: "DELETE", ifVersion: version });
  const set = (to: "ACTIVE" | "SUSPENDED") => () => change({ state: to });
  return (
    <p class="row">
      {state === "ACTIVE" && (
        <SureButton label={ACCESS_TEXTS.suspend} help={ACCESS_TEXTS.suspendSure} act={set("SUSPENDED")} done={reload} />
      )}
      {state === "SUSPENDED" && (
        <SureButton label={TEXTS.resume} help={ACCESS_TEXTS.resumeSure} act={set("ACTIVE")} done={reload} />
      )}
      {name !== DEFAULT_TENANT && (
        <SureButton
          label={ACCESS_TEXTS.deleteTenant}
          help={ACCESS_TEXTS.deleteTenantSure}
          typed={name}
          act={remove}
          done={reload}
        />
      )}
    </p>
  );
}

function Counts({ usage }: { usage: TenantUsageBody }) {
  const count = (value: number) => countText(value, usage.countedUpTo);
  return (
    <dl class="figures">
      <Figure title={TEXTS.waiting}>{count(usage.waiting)}</Figure>
      <Figure title={TEXTS.ready}>{count(usage.ready)}</Figure>
      <Figure title={TEXTS.running}>{count(usage.running)}</Figure>
      <Figure title={TEXTS.deadLetters}>{count(usage.deadLetters)}</Figure>
      {usage.openRuns !== null && <Figure title={TEXTS.openRuns}>{count(usage.openRuns)}</Figure>}
    </dl>
  );
}

function Quotas({ tenant, usage }: { tenant: TenantBody; usage: TenantUsageBody | null }) {
  return (
    <section>
      <h2>{ACCESS_TEXTS.usage}</h2>
      <Table
        caption={ACCESS_TEXTS.usage}
        rows={QUOTAS}
        keyOf={(quota) => quota}
        columns={[
          { title: ACCESS_TEXTS.quota, cell: (quota) => ACCESS_TEXTS.quotas[quota] },
          { title: ACCESS_TEXTS.used, cell: (quota) => <Used {...{ quota, usage }} limit={tenant[quota]} /> },
          {
            title: ACCESS_TEXTS.allowed,
            cell: (quota) => (tenant[quota] === null ? ACCESS_TEXTS.noLimit : countText(tenant[quota])),
          },
        ]}
      />
    </section>
  );
}

function Used({ quota, usage, limit }: { quota: Quota; usage: TenantUsageBody | null; limit: number | null }) {
  const used = usage === null ? null : usedOf(quota, usage);
  if (used === null || usage === null) return <span class="dim">{ACCESS_TEXTS.notCounted}</span>;
  return (
    <span class="row">
      {countText(used, usage.countedUpTo)}
      {limit !== null && (
        <progress value={Math.min(used, limit)} max={Math.max(1, limit)} aria-label={ACCESS_TEXTS.quotas[quota]} />
      )}
    </span>
  );
}

/** Use of a quota as the server counts it; null: it counts none. */
function usedOf(quota: Quota, { waiting, ready, running }: TenantUsageBody): number | null {
  if (quota === "maxRunning") return running;
  return quota === "maxWaiting" ? waiting + ready : null;
}

function ChangeQuotas({ tenant, change, reload }: ChangeProps) {
  const fields = [
    { name: "weight", label: ACCESS_TEXTS.weight, value: String(tenant.weight), isRequired: true, isNumber: true },
    ...QUOTAS.map((quota) => ({
      name: quota,
      label: ACCESS_TEXTS.quotas[quota],
      value: tenant[quota] === null ? "" : String(tenant[quota]),
      isNumber: true,
    })),
  ];
  const act = (given: Record<string, string>) => {
    const limits = QUOTAS.map((quota) => [quota, given[quota] === undefined ? null : Number(given[quota])]);
    return change({ weight: Number(given["weight"]), ...Object.fromEntries(limits) });
  };
  return (
    <Form
      key={tenant.version}
      label={ACCESS_TEXTS.changeQuotas}
      help={ACCESS_TEXTS.emptyIsNone}
      fields={fields}
      act={act}
      done={reload}
    />
  );
}

function Facts({ tenant: { name, weight, pools } }: { tenant: TenantBody }) {
  return (
    <>
      <dl class="figures facts">
        <Figure title={ACCESS_TEXTS.weight}>{weight}</Figure>
        <Figure title={ACCESS_TEXTS.allowedPools}>
          <Name of={pools === null ? ACCESS_TEXTS.everyPool : pools.join(", ")} />
        </Figure>
      </dl>
      <p class="row">
        <a href={hrefOf(["executions"], { tenant: name })}>{ACCESS_TEXTS.executionsOfTenant}</a>
        <a href={hrefOf(["keys"], { tenant: name })}>{ACCESS_TEXTS.keysOfTenant}</a>
      </p>
    </>
  );
}

import type { Scope } from "@mainspring/contract/enums";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { RequestFailed } from "./api/client.ts";
import { AuditPage } from "./pages/access/audit-page.tsx";
import { KeysPage } from "./pages/access/keys-page.tsx";
import { TenantPage } from "./pages/access/tenant-page.tsx";
import { TenantsPage } from "./pages/access/tenants-page.tsx";
import { ClusterPage } from "./pages/cluster-page.tsx";
import { DeadLettersPage } from "./pages/dead-letters-page.tsx";
import { ExecutionPage } from "./pages/execution-page.tsx";
import { ExecutionsPage } from "./pages/executions-page.tsx";
import { JobPage } from "./pages/job-page.tsx";
import { JobsPage } from "./pages/jobs-page.tsx";
import { LoginPage } from "./pages/login-page.tsx";
import { OverviewPage } from "./pages/overview-page.tsx";
import { PoolsPage } from "./pages/pools-page.tsx";
import { WorkersPage } from "./pages/workers-page.tsx";
import { WorkflowsPage } from "./pages/workflows/workflows-page.tsx";
import { Empty, Failure, Loading } from "./parts/failure.tsx";
import { lazily } from "./parts/lazily.tsx";
import { Palette } from "./parts/palette/palette.tsx";
import type { Destination } from "./parts/palette/places.ts";
import { SettingsMenu } from "./parts/settings-menu.tsx";
import { linkTo, route, tenant } from "./state/route.ts";
import { lookIn, may, session } from "./state/session.ts";
import { useRetry } from "./state/use-answer.ts";
import { ACCESS_TEXTS } from "./texts/access-texts.ts";
import { WORKFLOW_TEXTS } from "./texts/workflow-texts.ts";
import { TEXTS } from "./texts.ts";

const WorkflowPage = lazily(async () => (await import("./pages/workflows/workflow-page.tsx")).WorkflowPage);

/** Pages without a parameter, in the order of the menu. The first part of a path names the page. The menu leaves out pages whose scope the key lacks. */
const PAGES: Record<string, { title: string; page: ComponentType; scope?: Scope }> = {
  "": { title: TEXTS.overview, page: OverviewPage },
  executions: { title: TEXTS.executions, page: ExecutionsPage },
  jobs: { title: TEXTS.jobs, page: JobsPage },
  workflows: { title: WORKFLOW_TEXTS.workflows, page: WorkflowsPage },
  "dead-letters": { title: TEXTS.deadLetters, page: DeadLettersPage },
  workers: { title: TEXTS.workers, page: WorkersPage },
  pools: { title: TEXTS.pools, page: PoolsPage },
  cluster: { title: TEXTS.cluster, page: ClusterPage },
  tenants: { title: ACCESS_TEXTS.tenants, page: TenantsPage, scope: "system:admin" },
  keys: { title: ACCESS_TEXTS.keys, page: KeysPage, scope: "tenant:admin" },
  audit: { title: ACCESS_TEXTS.audit, page: AuditPage, scope: "tenant:admin" },
};

/** Pages of one thing, whose id is the second part of the path. */
const DETAILS: Record<string, { title: string; page: ComponentType<{ id: string }> }> = {
  executions: { title: TEXTS.execution, page: ExecutionPage },
  jobs: { title: TEXTS.job, page: JobPage },
  workflows: { title: WORKFLOW_TEXTS.run, page: WorkflowPage },
  tenants: { title: ACCESS_TEXTS.tenant, page: TenantPage },
};

export function App() {
  const { state } = session.value;
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        {TEXTS.skip}
      </a>
      <header class="bar">
        <strong>{TEXTS.product}</strong>
        {state === "IN" && <Menu />}
        {state === "IN" && <Palette pages={destinations()} />}
        <SettingsMenu />
      </header>
      <main id="main" tabIndex={-1}>
        <Content />
      </main>
    </>
  );
}

/** Moves the focus without changing the address, which names the page. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function shownPages() {
  return Object.entries(PAGES).filter(([, { scope = "jobs:read" }]) => may(scope));
}

function destinations(): Destination[] {
  return shownPages().map(([name, { title }]) => ({
    kind: "page",
    text: title,
    path: name === "" ? [] : [name],
    query: {},
  }));
}

function Menu() {
  const [first = ""] = route.value.path;
  return (
    <nav aria-label={TEXTS.pages}>
      {shownPages().map(([name, { title }]) => (
        <a key={name} href={linkTo(name === "" ? [] : [name])} aria-current={name === first ? "page" : undefined}>
          {title}
        </a>
      ))}
      <a href="../docs">{TEXTS.api}</a>
    </nav>
  );
}

function Content() {
  const here = session.value;
  if (here.state === "ASKING") return <Loading />;
  if (here.state === "LOGIN") return <LoginPage />;
  if (here.state === "FAILED") return <NoSession failure={here.failure} />;
  if (!may("jobs:read")) return <Empty title={TEXTS.cannotRead} help={TEXTS.cannotReadHelp} />;
  return <Page />;
}

function NoSession({ failure }: { failure: RequestFailed }) {
  useRetry(failure, retryLookIn);
  return <Failure of={failure} retry={retryLookIn} />;
}

function retryLookIn(): void {
  void lookIn();
}

function Page() {
  const [name = "", id, ...rest] = route.value.path;
  const found = rest.length > 0 ? undefined : id === undefined ? PAGES[name] : DETAILS[name];
  const heading = useRef<HTMLHeadingElement>(null);
  const place = route.value.path.join("/");
  const last = useRef(place);
  useEffect(() => {
    document.title = `${found?.title ?? TEXTS.noPage} · ${TEXTS.product}`;
    // A screen reader then reads the new page, as after a load.
    if (last.current !== place) heading.current?.focus();
    last.current = place;
  }, [place]);
  if (found === undefined) return <Empty title={TEXTS.noPage} help={TEXTS.noPageHelp} />;
  const Shown = found.page as ComponentType<{ id: string | undefined }>;
  return (
    <>
      <h1 ref={heading} tabIndex={-1}>
        {found.title}
      </h1>
      <Shown key={`${tenant.value} ${place}`} id={id} />
    </>
  );
}

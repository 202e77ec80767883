import type { Store } from "../../../ports/store.ts";
import { packAlone, type Submitting } from "../submit.ts";
import { type Changing, deleteJob, orderPlan, replaceJob } from "./job-changes.ts";
import { runJob } from "./job-runs.ts";
import { putNamed } from "./named-puts.ts";

/** See StoreJobs. */
export function jobChanges(parts: Submitting): Store["jobs"] {
  const changing: Changing = { ...parts, db: parts.db.submit };
  return {
    replace: (asked, note) => replaceJob(changing, asked, note),
    putNamed: (asked, note) => putNamed(changing, asked, (job, at) => packAlone(parts, job, at), note),
    delete: (asked, note) => deleteJob(changing, asked, note),
    run: (asked, note) => runJob(changing, asked, note),
    order: (tenant, command, note) => orderPlan(changing, tenant, command, note),
  };
}

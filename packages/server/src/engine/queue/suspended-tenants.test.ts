import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MINUTE, recurringJob } from "../testing/recurring.ts";
import { RecurringWorld } from "../testing/recurring-world.ts";
import { candidate, Story } from "../testing/story.ts";

const ACME: ReadonlySet<string> = new Set(["acme"]);
const NOBODY: ReadonlySet<string> = new Set();

describe("a suspended tenant", () => {
  it("gets no worker, beside others that do, until it goes on", () => {
    const story = new Story().worker("w1", { slots: 5 });
    story.tell({ kind: "STOPPED", tenants: ACME });
    story.hint(candidate({ id: "of acme", tenant: "acme" }), candidate({ id: "of default" }));
    assert.deepEqual(story.assigned(), ["of default"]);
    story.commit();
    story.tell({ kind: "STOPPED", tenants: NOBODY });
    assert.deepEqual(story.assigned(), ["of acme"]);
  });

  it("keeps what waits in lanes from workers that come later", () => {
    const story = new Story().hint(candidate({ id: "of acme", tenant: "acme" }));
    story.tell({ kind: "STOPPED", tenants: ACME }).worker("w1", { slots: 5 });
    assert.deepEqual(story.assigned(), []);
    story.tell({ kind: "STOPPED", tenants: NOBODY });
    assert.deepEqual(story.assigned(), ["of acme"]);
  });

  it("has recurring jobs that do not fire, and that treat the instants as misfired when it goes on", () => {
    const world = new RecurringWorld();
    const job = world.plans.insert(recurringJob());
    world.story.tell({ kind: "STOPPED", tenants: new Set(["default"]) });
    world.at(MINUTE);
    assert.deepEqual(world.ledger(job), { ran: [], skipped: [] });
    world.story.tell({ kind: "STOPPED", tenants: NOBODY });
    world.at(MINUTE + 1_000);
    assert.deepEqual(world.ledger(job).ran, [MINUTE]);
  });
});

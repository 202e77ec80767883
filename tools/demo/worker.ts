import { setTimeout as pause } from "node:timers/promises";
import { task, Worker } from "@mainspring/sdk";

/** Worker process with the demo's own handlers. */

const thumbnail = task({
  name: "thumbnail",
  run: async ({ photo }: { photo: string }, ctx) => {
    ctx.log(`${photo}: begun`);
    for (let step = 1; step <= 10; step++) {
      await pause(100, undefined, { signal: ctx.signal });
      ctx.progress(step / 10, photo);
    }
    return { photo, madeBy: process.pid };
  },
});

const flaky = task({
  name: "flaky",
  run: (_payload: null, ctx) => {
    if (ctx.failures < 2) throw new Error(`failure ${ctx.failures + 1} of 2, on purpose`);
    return "well in the end";
  },
});

const print = task({ name: "print", run: (_payload: null, ctx) => pause(50, "printed", { signal: ctx.signal }) });

const photos = new Worker({ name: "demo photos", pool: "photos", slots: 4, tasks: [thumbnail, flaky] });
// One slot, so that the order of the jobs is visible.
const press = new Worker({ name: "demo press", pool: "press", slots: 1, tasks: [print] });
for (const signal of ["SIGTERM", "SIGINT"] as const)
  process.on(signal, () => void Promise.all([photos.stop(), press.stop()]));
await Promise.all([photos.start(), press.start()]);
console.log("connected");

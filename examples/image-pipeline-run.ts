import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, Worker } from "@mainspring/sdk";
import { imagePipeline, makeImages } from "./image-pipeline.ts";

// Makes images, 2,000 or as many as the argument says, and runs them through the pipeline with a worker of its own:
// `npx node examples/image-pipeline-run.ts 5000`. Any viewer that knows PGM shows the contact sheet.
const count = Number(process.argv[2] ?? 2_000);
const folder = join(tmpdir(), `image-pipeline-${process.pid}`);
await makeImages(folder, count, [7, Math.floor(count / 2)]);
console.log(`${count} images are in ${folder}`);

const worker = new Worker({ slots: 50, tasks: imagePipeline.tasks });
await worker.start();
const run = await imagePipeline.submit(new Client(), { folder });
console.log(`the run is ${run.workflowId}: mainspring workflow show ${run.workflowId}`);
console.log(await run.result());
await worker.stop();

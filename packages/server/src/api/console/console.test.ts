import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import Fastify from "fastify";
import type { HttpApp } from "../http/http-app.ts";
import { ConsoleFiles } from "./console-files.ts";
import { consoleRoutes } from "./console-routes.ts";

const PAGE = "<!doctype html><title>Mainspring</title>";

describe("the files of the console", () => {
  let folder: string;
  let app: HttpApp;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "console-files-"));
    app = Fastify() as unknown as HttpApp;
    consoleRoutes(app, new ConsoleFiles(pathToFileURL(`${folder}/`)));
  });
  after(async () => {
    await app.close();
    await rm(folder, { recursive: true });
  });

  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

  it("are missing in a clone until somebody builds them, which a page says", async () => {
    const answer = await get("/console/");
    assert.equal(answer.statusCode, 503);
    assert.match(String(answer.headers["content-type"]), /^text\/html/);
    assert.match(answer.body, /npm run build --workspace @mainspring\/console/);
  });

  it("are served once they are built, without a restart", async () => {
    await mkdir(join(folder, "assets"));
    await writeFile(join(folder, "index.html"), PAGE);
    await writeFile(join(folder, "assets/a-1.js"), "export {};");
    await writeFile(join(folder, "secret.txt"), "no");
    const page = await get("/console/");
    assert.deepEqual([page.statusCode, page.body, page.headers["cache-control"]], [200, PAGE, "no-cache"]);
    const script = await get("/console/assets/a-1.js", { "accept-encoding": "br, gzip" });
    assert.equal(gunzipSync(script.rawPayload).toString(), "export {};");
    assert.match(String(script.headers["cache-control"]), /immutable/);
    assert.match(String(script.headers["content-type"]), /^text\/javascript/);
  });

  it("are all there is: no other path leads to a file", async () => {
    for (const path of ["secret.txt", "assets", "../console-files.ts", "%2e%2e/package.json", "assets/../../x"])
      assert.ok((await get(`/console/${path}`)).statusCode >= 400, path);
  });

  it("allow the page nothing from elsewhere, and no code within it", async () => {
    const policy = String((await get("/console/")).headers["content-security-policy"]);
    assert.match(policy, /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  });

  it("lie behind an address that works with the prefix of a proxy", async () => {
    const answer = await get("/console");
    assert.deepEqual([answer.statusCode, answer.headers.location], [302, "console/"]);
  });
});

import assert from "node:assert/strict";
import { chmod, chown, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Authority, newAuthority } from "../../../tools/services/certificates.ts";
import { freePort } from "./environment/free-port.ts";
import { Postgres } from "./environment/postgres/postgres.ts";
import { findPrograms, type Programs } from "./environment/postgres/programs.ts";
import { Server } from "./environment/server.ts";

describe("a store that is reached by TLS", () => {
  let folder: string;
  let programs: Programs;
  let authority: Authority;
  let stranger: Authority;
  let secured: Postgres;
  let plain: Postgres;
  const ports = { secured: 0, plain: 0 };
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-tls-"));
    await chmod(folder, 0o711);
    programs = await findPrograms();
    authority = await newAuthority(folder, "authority");
    stranger = await newAuthority(folder, "stranger");
    const files = await certificate(["DNS:localhost"]);
    ports.secured = await freePort();
    ports.plain = await freePort();
    const ssl = { ssl: "on", ssl_cert_file: files.certFile, ssl_key_file: files.keyFile };
    secured = await postgres("secured", { ...ssl, listen_addresses: "127.0.0.1", port: String(ports.secured) });
    plain = await postgres("plain", { listen_addresses: "127.0.0.1", port: String(ports.plain) });
  });
  after(async () => {
    await secured?.close();
    await plain?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function postgres(name: string, settings: Record<string, string>): Promise<Postgres> {
    const started = await Postgres.create({
      programs,
      folder: join(folder, name),
      logFile: join(folder, `${name}.log`),
      settings,
    });
    await started.start();
    return started;
  }

  /** Creates a certificate. PostgreSQL reads its key as its own user, and refuses a key that others may read. */
  async function certificate(names: readonly string[]) {
    const files = await authority.issue("server", names);
    await chmod(files.keyFile, 0o600);
    if (programs.user !== null) await chown(files.keyFile, programs.user.uid, programs.user.gid);
    return files;
  }

  const url = (host: string, port: number, query: string) => `postgres://mainspring@${host}:${port}/postgres?${query}`;
  const trusting = (ca: Authority, mode = "verify-full") => `sslmode=${mode}&sslrootcert=${ca.certFile}`;

  async function server(name: string, storeUrl: string): Promise<Server> {
    const [httpPort, grpcPort] = [await freePort(), await freePort()];
    return new Server({ folder, name, httpPort, grpcPort, env: { MAINSPRING_STORE: storeUrl } });
  }

  async function serves(name: string, storeUrl: string): Promise<void> {
    const started = await server(name, storeUrl);
    started.start();
    await started.ready();
    const encrypted = `SELECT bool_and(s.ssl), count(*) > 3 FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
      WHERE a.application_name LIKE 'mainspring/%'`;
    assert.equal(await sqlAt(encrypted), "t|t");
    await started.stop();
    assert.deepEqual(started.deaths, []);
  }

  /** Error output of a start that ends by itself. */
  async function refusal(name: string, storeUrl: string): Promise<string> {
    const started = await server(name, storeUrl);
    started.start();
    await assert.rejects(started.ready(), /ended by itself: code 1/);
    const said = await readFile(join(folder, `${name}.log`), "utf8");
    return said.split("\n").find((line) => line.startsWith("mainspring: ")) ?? said;
  }

  const sqlAt = (text: string) =>
    programs.run("psql", [
      ...["-h", secured.disk.folder, "-p", String(ports.secured), "-U", "mainspring", "-d", "postgres"],
      ...["-X", "-q", "-A", "-t", "-c", text],
    ]);

  it("serves where the certificate is of the authority that is named, and of the host", async () => {
    await serves("verified", url("localhost", ports.secured, trusting(authority)));
  });

  it("serves where sslmode=require names the authority, and checks the certificate", async () => {
    await serves("required", url("localhost", ports.secured, trusting(authority, "require")));
    const said = await refusal("required-unknown", url("localhost", ports.secured, "sslmode=require"));
    assert.match(said, /certificate is not accepted: .*; name its authority by sslrootcert=FILE/);
  });

  it("serves by any certificate where that is asked for", async () => {
    await serves("unverified", url("localhost", ports.secured, "sslmode=no-verify"));
  });

  it("does not start where the certificate is of another authority", async () => {
    const said = await refusal("stranger", url("localhost", ports.secured, trusting(stranger)));
    assert.match(said, /certificate is not accepted: .*; name its authority by sslrootcert=FILE/);
  });

  it("does not start where the certificate is of another host, by name and by address", async () => {
    const said = await refusal("address", url("127.0.0.1", ports.secured, trusting(authority)));
    assert.match(said, /certificate is not accepted: .*127\.0\.0\.1/);
    await certificate(["DNS:db.example", "IP:127.0.0.1"]);
    assert.equal(await sqlAt("SELECT pg_reload_conf()"), "t");
    const other = await refusal("name", url("localhost", ports.secured, trusting(authority)));
    assert.match(other, /certificate is not accepted: .*localhost/);
    await serves("by-address", url("127.0.0.1", ports.secured, trusting(authority)));
  });

  it("does not start where PostgreSQL has no TLS and it is asked for", async () => {
    for (const mode of ["require", "verify-full", "no-verify"]) {
      const said = await refusal(`plain-${mode}`, url("localhost", ports.plain, `sslmode=${mode}`));
      assert.match(said, /PostgreSQL has no TLS, and MAINSPRING_STORE asks for it: switch it on/);
    }
  });
});

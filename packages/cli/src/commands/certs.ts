import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Command, InvalidArgumentError } from "commander";
import { wholeId } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";

const run = promisify(execFile);

interface Options {
  dir: string;
  hosts: string[];
  cluster: string;
  days: number;
}

interface WorkerOptions extends Pick<Options, "dir" | "days"> {
  name: string;
}

const HOW = `
Makes an authority, and a certificate for nodes that is valid for all hosts that --hosts names: for the HTTP API, for gRPC, and by
the name mainspring://CLUSTER/node for links between nodes. It is for trying TLS; in production an authority of your own
gives each node a certificate, and keeps the key of the authority elsewhere. It needs openssl.`;

const HOW_OF_WORKER = `
Makes a certificate for the workers of an API key, signed by the authority that mainspring certs dev made in the folder. A key that was created
with --require-cert admits a worker only with a certificate that has the name mainspring://CLUSTER/worker/KEY_ID. The certificate stays
good for a key that replaces this one. A repeat renews the files, and workers read them at their next connection. It needs openssl.`;

export function certsCommand(): Command {
  return new Command("certs").description("certificates for TLS").addCommand(devCommand()).addCommand(workerCommand());
}

function devCommand(): Command {
  return new Command("dev")
    .description("make an authority and a certificate for nodes, to try TLS")
    .option("--dir <folder>", "the folder for the files, which must be empty or new", "./certs")
    .option("--hosts <names>", "names and addresses of the nodes, with commas", hosts, [
      "localhost",
      "127.0.0.1",
      "::1",
    ])
    .option("--cluster <name>", "the name of the cluster", cluster, "dev")
    .option("--days <count>", "for how many days", days, 90)
    .addHelpText("after", HOW)
    .action(makeCertificates);
}

function workerCommand(): Command {
  return new Command("worker")
    .description("make a certificate for the workers of an API key, to try keys that require one")
    .argument("<keyId>", "", wholeId)
    .option("--dir <folder>", "the folder that mainspring certs dev made", "./certs")
    .option("--name <name>", "the name of the two files in it, without their endings", fileName, "worker")
    .option("--days <count>", "for how many days", days, 90)
    .addHelpText("after", HOW_OF_WORKER)
    .action(makeWorkerCertificate);
}

function hosts(text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  const wrong = names.find(
    (name) => isIP(name) === 0 && !/^(\*\.)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/.test(name),
  );
  if (wrong === undefined) return names;
  throw new InvalidArgumentError(`"${wrong}" is neither a host name nor an address, as node-1.example,10.0.0.5 are`);
}

function cluster(text: string): string {
  if (/^[A-Za-z0-9._-]{1,63}$/.test(text)) return text;
  throw new InvalidArgumentError("a name of a cluster has 1 to 63 letters, digits, dots, _ and -");
}

function fileName(text: string): string {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(text) && text !== "node" && text !== "ca" && !text.startsWith(".")) return text;
  throw new InvalidArgumentError("a name has 1 to 64 letters, digits, dots, _ and -, and is neither node nor ca");
}

function days(text: string): number {
  const count = Number(text);
  if (/^\d{1,4}$/.test(text) && count >= 1 && count <= 3_650) return count;
  throw new InvalidArgumentError("a whole number from 1 to 3650");
}

async function makeCertificates({ dir, hosts: names, cluster: name, days: count }: Options): Promise<void> {
  const folder = resolve(dir);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // New files among old ones could be mixed up with them.
  if ((await readdir(folder)).length > 0) throw new Failure(`${folder} is not empty: name another folder with --dir`);
  try {
    await makeFiles(folder, names, name, count);
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
  const at = (file: string) => join(folder, file);
  process.stdout.write(
    [
      `${folder} has an authority and a certificate for nodes at ${names.join(", ")}, valid for ${count} days.`,
      "",
      "A server, and each node of a cluster:",
      `  export MAINSPRING_TLS_CERT=${at("node.pem")} MAINSPRING_TLS_KEY=${at("node.key")} MAINSPRING_TLS_CA=${at("ca.pem")}`,
      "",
      "Clients and workers, whose addresses then begin with https://:",
      `  export MAINSPRING_TLS_CA=${at("ca.pem")}`,
      `  export NODE_EXTRA_CA_CERTS=${at("ca.pem")}   # for programs with the SDK`,
      "",
    ].join("\n"),
  );
}

async function makeWorkerCertificate(keyId: string, { dir, name: file, days: count }: WorkerOptions): Promise<void> {
  const folder = resolve(dir);
  const name = `mainspring://${await clusterOf(folder)}/worker/${keyId.toLowerCase()}`;
  const usage = ["extendedKeyUsage=clientAuth", `subjectAltName=URI:${name}`];
  await issue(folder, { file, subject: `/CN=Mainspring worker ${keyId}`, usage, days: count });
  const at = (end: string) => join(folder, `${file}.${end}`);
  process.stdout.write(
    [
      `${at("pem")} has the name ${name}, valid for ${count} days.`,
      "",
      "Workers with this key:",
      `  export MAINSPRING_WORKER_TLS_CERT=${at("pem")} MAINSPRING_WORKER_TLS_KEY=${at("key")} MAINSPRING_TLS_CA=${join(folder, "ca.pem")}`,
      "",
    ].join("\n"),
  );
}

/**
 * Name of the cluster of the nodes' certificate in the folder.
 * @throws {Failure} the folder is not one of `certs dev`
 */
async function clusterOf(folder: string): Promise<string> {
  const certificate = await readFile(join(folder, "node.pem"), "utf8").catch(() => null);
  const names = certificate === null ? "" : (new X509Certificate(certificate).subjectAltName ?? "");
  const name = /URI:mainspring:\/\/([A-Za-z0-9._-]{1,63})\/node/.exec(names)?.[1];
  if (name !== undefined) return name;
  throw new Failure(
    `${folder} has no certificate of a node: make it with mainspring certs dev, or name another folder with --dir`,
  );
}

async function makeFiles(folder: string, names: readonly string[], name: string, count: number): Promise<void> {
  const alternatives = names.map((host) => `${isIP(host) === 0 ? "DNS" : "IP"}:${host}`);
  await execute(
    "openssl",
    [
      ...[
        "req",
        "-x509",
        ...fresh(count),
        "-subj",
        `/CN=Mainspring authority ${name}`,
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
      ],
      ...["-addext", "basicConstraints=critical,CA:TRUE,pathlen:0", "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
    ],
    folder,
  );
  const usage = [
    "extendedKeyUsage=serverAuth,clientAuth",
    `subjectAltName=${[...alternatives, `URI:mainspring://${name}/node`].join(",")}`,
  ];
  await issue(folder, { file: "node", subject: `/CN=Mainspring node ${name}`, usage, days: count });
}

/** Arguments for a new key, and a lifetime in days. */
function fresh(count: number): string[] {
  return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", String(count)];
}

/** A certificate of the authority in a folder. */
interface Issued {
  /** Name of its files, without the ending. */
  file: string;
  subject: string;
  /** Extensions that say what it is for. */
  usage: readonly string[];
  days: number;
}

/** Makes a certificate under names of its own, and then gives it its name, so that nobody reads half of it. */
async function issue(folder: string, { file, subject, usage, days: count }: Issued): Promise<void> {
  const openssl = (...args: string[]) => execute("openssl", args, folder);
  const made = (end: string) => `${file}.new.${end}`;
  await writeFile(
    join(folder, made("ext")),
    ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature", ...usage].join("\n"),
  );
  await openssl("req", ...fresh(count), "-subj", subject, "-keyout", made("key"), "-out", made("csr"));
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", String(count)];
  await openssl("x509", "-req", "-in", made("csr"), ...signing, "-extfile", made("ext"), "-out", made("pem"));
  for (const end of ["key", "pem"]) await rename(join(folder, made(end)), join(folder, `${file}.${end}`));
  await Promise.all([made("ext"), made("csr"), "ca.srl"].map((name) => rm(join(folder, name), { force: true })));
}

async function execute(program: string, args: readonly string[], cwd: string): Promise<void> {
  try {
    await run(program, args, { cwd, env: { ...process.env, RANDFILE: join(cwd, ".rnd") } });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new Failure("openssl is needed to make certificates: install it", EXIT.failed);
    throw new Failure(message, EXIT.failed);
  }
}

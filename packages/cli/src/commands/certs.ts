import { execFile } from "node:child_process";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join, resolve } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Command, InvalidArgumentError } from "commander";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";

const run = promisify(execFile);

interface Options {
  dir: string;
  hosts: string[];
  cluster: string;
  days: number;
}

const HOW = `
Makes an authority, and a certificate for nodes that is valid for all hosts that --hosts names: for the HTTP API, for gRPC, and by
the name mainspring://CLUSTER/node for links between nodes. It is for trying TLS; in production an authority of your own
gives each node a certificate, and keeps the key of the authority elsewhere. It needs openssl.`;

export function certsCommand(): Command {
  return new Command("certs").description("certificates for TLS").addCommand(devCommand());
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

async function makeFiles(folder: string, names: readonly string[], name: string, count: number): Promise<void> {
  const openssl = (...args: string[]) => execute("openssl", args, folder);
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", String(count)];
  const alternatives = names.map((host) => `${isIP(host) === 0 ? "DNS" : "IP"}:${host}`);
  await openssl(
    ...["req", "-x509", ...fresh, "-subj", `/CN=Mainspring authority ${name}`, "-keyout", "ca.key", "-out", "ca.pem"],
    ...["-addext", "basicConstraints=critical,CA:TRUE,pathlen:0", "-addext", "keyUsage=critical,keyCertSign,cRLSign"],
  );
  const extensions = [
    "basicConstraints=critical,CA:FALSE",
    "keyUsage=critical,digitalSignature",
    "extendedKeyUsage=serverAuth,clientAuth",
    `subjectAltName=${[...alternatives, `URI:mainspring://${name}/node`].join(",")}`,
  ];
  await writeFile(join(folder, "node.ext"), extensions.join("\n"));
  await openssl("req", ...fresh, "-subj", `/CN=Mainspring node ${name}`, "-keyout", "node.key", "-out", "node.csr");
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", String(count)];
  await openssl("x509", "-req", "-in", "node.csr", ...signing, "-extfile", "node.ext", "-out", "node.pem");
  await Promise.all(["node.ext", "node.csr", "ca.srl"].map((file) => rm(join(folder, file), { force: true })));
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

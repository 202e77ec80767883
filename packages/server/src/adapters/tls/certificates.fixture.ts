import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const FRESH = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Makes an authority, `ca.pem` and `ca.key`, in a folder. */
export async function makeAuthority(folder: string): Promise<void> {
  await run("openssl", ["req", "-x509", ...FRESH, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"], {
    cwd: folder,
  });
}

/**
 * Makes a certificate of the authority of the folder, `<name>.pem` and `<name>.key`.
 * @param names alternative names, as IP:127.0.0.1,URI:mainspring://test/node
 */
export async function makeCertificate(folder: string, name: string, names: string, days = 30): Promise<void> {
  const openssl = (args: readonly string[]) => run("openssl", args, { cwd: folder });
  await writeFile(join(folder, `${name}.ext`), `subjectAltName=${names}\n`);
  await openssl(["req", ...FRESH, "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.csr`]);
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", String(days)];
  await openssl(["x509", "-req", "-in", `${name}.csr`, ...signing, "-extfile", `${name}.ext`, "-out", `${name}.pem`]);
}

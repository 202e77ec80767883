import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A certificate authority of a test, as PEM files. */
export interface Authority {
  /** Certificate that clients must trust. */
  readonly certFile: string;
  /**
   * Issues a certificate for the names (`DNS:localhost`, `IP:127.0.0.1`), which replaces an existing file.
   * @param days lifetime of the certificate; default: 2
   */
  issue(file: string, names: readonly string[], days?: number): Promise<IssuedFiles>;
  /** Issues a certificate for the names that has ended yesterday. */
  issueExpired(file: string, names: readonly string[]): Promise<IssuedFiles>;
}

interface IssuedFiles {
  certFile: string;
  keyFile: string;
}

/** Creates a key and a self-signed certificate in the folder, with the system's openssl. */
export async function newAuthority(folder: string, name: string): Promise<Authority> {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  await openssl(["-x509", "-days", "2", "-subj", `/CN=${name}`, "-keyout", keyFile, "-out", certFile]);
  return authorityIn(folder, name);
}

/** The authority that `newAuthority` has created in the folder. */
export function authorityIn(folder: string, name: string): Authority {
  const [certFile, keyFile] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  return {
    certFile,
    issue: async (file, names, days = 2) => {
      const issued = { certFile: join(folder, `${file}.crt`), keyFile: join(folder, `${file}.key`) };
      const by = ["-CA", certFile, "-CAkey", keyFile, "-addext", `subjectAltName=${names.join(",")}`];
      const leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
      await openssl([
        "-x509",
        "-days",
        String(days),
        "-subj",
        "/CN=a server",
        ...by,
        ...leaf,
        "-keyout",
        issued.keyFile,
        "-out",
        issued.certFile,
      ]);
      return issued;
    },
    issueExpired: async (file, names) => {
      const issued = { certFile: join(folder, `${file}.crt`), keyFile: join(folder, `${file}.key`) };
      const [request, extensions] = [join(folder, `${file}.csr`), join(folder, `${file}.ext`)];
      await writeFile(extensions, `basicConstraints=critical,CA:FALSE\nsubjectAltName=${names.join(",")}`);
      await openssl(["-subj", "/CN=a server", "-keyout", issued.keyFile, "-out", request]);
      // `openssl req` takes no time in the past.
      const by = ["-CA", certFile, "-CAkey", keyFile, "-CAcreateserial", "-days", "-1", "-extfile", extensions];
      await run("openssl", ["x509", "-req", "-in", request, ...by, "-out", issued.certFile]);
      return issued;
    },
  };
}

async function openssl(args: readonly string[]): Promise<void> {
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await run("openssl", ["req", ...key, ...args]);
}

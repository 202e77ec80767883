import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Logger } from "pino";
import type { CertificateSource, Credentials } from "../../ports/certificates.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";

/** Interval of the looks at the files, in milliseconds. */
const LOOK_EVERY_MS = 10_000;
/** Largest size of a file, in bytes. */
const FILE_MAX_BYTES = 1024 * 1024;
/** Time before the end of a certificate from which each look warns once a day, in milliseconds. */
const EXPIRES_SOON_MS = 14 * 24 * 3_600_000;
const DAY_MS = 24 * 3_600_000;

/** Paths of files in PEM, and the settings that name them. */
export interface CertificateFiles {
  /** Beginning of the names of the settings: MAINSPRING_TLS or MAINSPRING_MESH. */
  setting: string;
  /** Certificate and those between it and its authority; null: none. Then there is no key either. */
  cert: string | null;
  key: string | null;
  /** Authorities of others; null: those of the system. */
  ca: string | null;
}

/** A file of a certificate, key or authority cannot be used. The message names the setting and the file. */
export class CertificateUnusable extends Error {
  override readonly name = "CertificateUnusable";
}

/**
 * Certificates from files. It looks at the files every 10 s and passes on new contents, so that a certificate is renewed
 * without a restart. Contents that do not fit each other are reported once, and the ones before stay in use.
 */
export class Certificates implements CertificateSource {
  readonly #files: CertificateFiles;
  readonly #runtime: Runtime;
  readonly #log: Logger;
  readonly #listeners = new Set<(credentials: Credentials) => void>();
  #current: Credentials;
  /** Digest of the newest contents, usable or not. */
  #seen: string;
  #timer: Timer | null = null;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** Fault of the newest contents that was logged; empty: they are usable. */
  #lastFault = "";

  /** @throws {CertificateUnusable} */
  static async open(files: CertificateFiles, deps: { runtime: Runtime; log: Logger }): Promise<Certificates> {
    const credentials = await read(files);
    check(files, credentials);
    return new Certificates(files, credentials, deps);
  }

  private constructor(
    files: CertificateFiles,
    first: Credentials,
    { runtime, log }: { runtime: Runtime; log: Logger },
  ) {
    this.#files = files;
    this.#current = first;
    this.#seen = digestOf(first);
    this.#runtime = runtime;
    this.#log = log;
    this.#warnOfEnd();
    this.#wait();
  }

  get current(): Credentials {
    return this.#current;
  }

  /** Time at which the certificate in use ends, in milliseconds since 1970; null: there is no certificate. */
  get expiresAt(): number | null {
    return this.#current.cert === null ? null : new X509Certificate(this.#current.cert).validToDate.getTime();
  }

  onChange(renewed: (credentials: Credentials) => void): void {
    this.#listeners.add(renewed);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Reads the files now, and passes on contents that are new and usable. */
  async look(): Promise<void> {
    try {
      const found = await read(this.#files);
      const digest = digestOf(found);
      if (digest !== this.#seen) {
        this.#seen = digest;
        check(this.#files, found);
        this.#current = found;
        this.#lastFault = "";
        this.#log.info({ setting: this.#files.setting }, "the certificates have changed, and new connections use them");
        for (const renewed of this.#listeners) renewed(found);
      }
    } catch (error) {
      if (!(error instanceof CertificateUnusable)) throw error;
      this.#warnOnce(error);
    }
    this.#warnOfEnd();
  }

  /** A file that another program writes right now is whole at the next look. */
  #warnOnce({ message }: CertificateUnusable): void {
    if (message === this.#lastFault) return;
    this.#lastFault = message;
    this.#log.warn({ fault: message }, "the new certificates cannot be used, and the ones before stay in use");
  }

  #warnOfEnd(): void {
    const { expiresAt } = this;
    const now = this.#runtime.now();
    if (expiresAt === null || expiresAt - now > EXPIRES_SOON_MS || now - this.#warnedAtMs < DAY_MS) return;
    this.#warnedAtMs = now;
    const expiry = { setting: this.#files.setting, expiresAt: new Date(expiresAt).toISOString() };
    this.#log.warn(
      expiry,
      expiresAt > now ? "a certificate ends soon: renew its file" : "a certificate has ended: renew its file",
    );
  }

  #wait(): void {
    this.#timer = this.#runtime.setTimer(LOOK_EVERY_MS, async () => {
      await this.look();
      if (!this.#isClosed) this.#wait();
    });
  }
}

async function read({ setting, cert, key, ca }: CertificateFiles): Promise<Credentials> {
  const [ofCert, ofKey, ofCa] = await Promise.all([
    fileOf(`${setting}_CERT`, cert),
    fileOf(`${setting}_KEY`, key),
    fileOf(`${setting}_CA`, ca),
  ]);
  return { cert: ofCert, key: ofKey, ca: ofCa };
}

async function fileOf(setting: string, path: string | null): Promise<string | null> {
  if (path === null) return null;
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    throw new CertificateUnusable(`${setting} must name a file that can be read: ${(error as Error).message}`);
  }
  if (text.length > FILE_MAX_BYTES) throw new CertificateUnusable(`${setting}: ${path} is larger than 1 MiB`);
  return text;
}

/** @throws {CertificateUnusable} a file is no PEM, or the key is not that of the certificate */
function check({ setting, ...paths }: CertificateFiles, { cert, key, ca }: Credentials): void {
  if (ca !== null) certificateIn(`${setting}_CA`, paths.ca, ca);
  if (cert === null || key === null) return;
  const certificate = certificateIn(`${setting}_CERT`, paths.cert, cert);
  let own: ReturnType<typeof createPrivateKey>;
  try {
    own = createPrivateKey(key);
  } catch {
    // The error could repeat a part of the key.
    throw new CertificateUnusable(`${setting}_KEY: ${paths.key} must be a private key in PEM without a passphrase`);
  }
  if (!certificate.checkPrivateKey(own)) {
    throw new CertificateUnusable(`${setting}_KEY: ${paths.key} is not the key of the certificate in ${paths.cert}`);
  }
}

function certificateIn(setting: string, path: string | null, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new CertificateUnusable(
      `${setting}: ${path} must begin with a certificate in PEM (-----BEGIN CERTIFICATE-----)`,
    );
  }
}

function digestOf({ cert, key, ca }: Credentials): string {
  return createHash("sha256")
    .update(JSON.stringify([cert, key, ca]))
    .digest("hex");
}

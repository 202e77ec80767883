import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import { MainspringError } from "../errors.ts";

/** Paths of files in PEM with the certificate by which a worker proves itself to servers, and with its private key. */
export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

/** Certificate of a worker. */
export interface WorkerCertificate {
  files: CertificateFiles;
  /** Contents of the files when they last fitted each other. */
  pair: CertificatePair;
}

/** Certificate, those between it and its authority, and its private key, in PEM. */
interface CertificatePair {
  cert: string;
  key: string;
}

/**
 * Certificate of a worker, by default from the files that MAINSPRING_WORKER_TLS_CERT and MAINSPRING_WORKER_TLS_KEY name; null: it has
 * none.
 * @throws {MainspringError} BAD_OPTION: one file is missing, or they do not fit each other
 */
export function workerCertificate(given: CertificateFiles | undefined): WorkerCertificate | null {
  const files = given ?? filesOfEnvironment();
  return files === null ? null : { files, pair: pairIn(files) };
}

/**
 * Reads the files again, so that a worker shows a renewed certificate at its next connection. Files that are being replaced may not
 * fit each other, and change nothing.
 */
export function renewed({ files, pair }: WorkerCertificate): WorkerCertificate {
  try {
    return { files, pair: pairIn(files) };
  } catch {
    return { files, pair };
  }
}

function filesOfEnvironment(): CertificateFiles | null {
  const { MAINSPRING_WORKER_TLS_CERT: certFile = "", MAINSPRING_WORKER_TLS_KEY: keyFile = "" } = process.env;
  if (certFile === "" && keyFile === "") return null;
  if (certFile !== "" && keyFile !== "") return { certFile, keyFile };
  const detail = "MAINSPRING_WORKER_TLS_CERT and MAINSPRING_WORKER_TLS_KEY must be set together";
  throw new MainspringError("BAD_OPTION", detail);
}

function pairIn({ certFile, keyFile }: CertificateFiles): CertificatePair {
  const [cert, key] = [textOf(certFile), textOf(keyFile)];
  const certificate = parsed(certFile, "begin with a certificate in PEM", () => new X509Certificate(cert));
  const own = parsed(keyFile, "be a private key in PEM without a passphrase", () => createPrivateKey(key));
  if (certificate.checkPrivateKey(own)) return { cert, key };
  throw new MainspringError("BAD_OPTION", `certificate: ${keyFile} is not the key of the certificate in ${certFile}`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new MainspringError("BAD_OPTION", `certificate: ${(error as Error).message}`);
  }
}

/** An error of the parser could repeat a part of the key, so it is left out. */
function parsed<T>(path: string, must: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new MainspringError("BAD_OPTION", `certificate: ${path} must ${must}`);
  }
}

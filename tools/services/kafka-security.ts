import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A listener with TLS and login, beside the plain one. A user has only the rights of access control lists. */
export interface SecureListener {
  /** Passwords by users, for PLAIN and for SCRAM-SHA-256. */
  users: Readonly<Record<string, string>>;
}

/** Makes an authority for certificates in a folder, and with it a certificate of 127.0.0.1. @returns the authority's own, as PEM */
export async function makeCertificates(folder: string): Promise<string> {
  const openssl = (args: readonly string[]) => run("openssl", args, { cwd: folder });
  const key = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  await openssl([...key, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"]);
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1"];
  await openssl([...key, ...signed, "-subj", "/CN=broker", "-keyout", "broker.key", "-out", "broker.pem"]);
  const parts = ["broker.key", "broker.pem", "ca.pem"].map((name) => readFile(join(folder, name), "utf8"));
  const [own, certificate, authority = ""] = await Promise.all(parts);
  await writeFile(join(folder, "keystore.pem"), `${own}${certificate}${authority}`);
  return authority;
}

/** Arguments of the formatting of a data folder, which also stores the users of SCRAM. */
export function scramUsers({ users }: SecureListener): string[] {
  return Object.entries(users).flatMap(([name, password]) => [
    "--add-scram",
    `SCRAM-SHA-256=[name=${name},password=${password}]`,
  ]);
}

/** Settings of a broker for the listener SECURE. Programs without a login, which are those of the test, have every right. */
export function securitySettings(folder: string, { users }: SecureListener): Record<string, string> {
  const security = "org.apache.kafka.common.security";
  const known = Object.entries(users).map(([name, password]) => `user_${name}="${password}"`);
  return {
    "listener.name.secure.ssl.keystore.type": "PEM",
    "listener.name.secure.ssl.keystore.location": join(folder, "keystore.pem"),
    "listener.name.secure.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.secure.plain.sasl.jaas.config": `${security}.plain.PlainLoginModule required ${known.join(" ")};`,
    "listener.name.secure.scram-sha-256.sasl.jaas.config": `${security}.scram.ScramLoginModule required;`,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
  };
}

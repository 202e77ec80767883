import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newAuthority } from "./certificates.ts";

/** A listener with TLS and login, beside the plain one. A user has only the rights of access control lists. */
export interface SecureListener {
  /** Passwords by users, for PLAIN and for SCRAM-SHA-256. */
  users: Readonly<Record<string, string>>;
}

/** Makes an authority for certificates in a folder, and with it a certificate of 127.0.0.1. @returns the authority's own, as PEM */
export async function makeCertificates(folder: string): Promise<string> {
  const authority = await newAuthority(folder, "authority");
  const { certFile, keyFile } = await authority.issue("broker", ["IP:127.0.0.1"]);
  const files = [keyFile, certFile, authority.certFile].map((file) => readFile(file, "utf8"));
  const [key, certificate, ca = ""] = await Promise.all(files);
  await writeFile(join(folder, "keystore.pem"), `${key}${certificate}${ca}`);
  return ca;
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

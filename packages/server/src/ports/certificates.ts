/** Longest duration of a handshake of TLS with a client, a worker or a node, in milliseconds. */
export const HANDSHAKE_MAX_MS = 10_000;

/** Contents of files of certificates, in PEM. */
export interface Credentials {
  /** Certificate, and those between it and its authority; null: none. Then there is no key either. */
  cert: string | null;
  key: string | null;
  /** Authorities of others; null: those of the system. */
  ca: string | null;
}

/** Certificates that are renewed while the server runs. */
export interface CertificateSource {
  /** Newest usable contents. */
  readonly current: Credentials;
  /** Calls `renewed` with each later contents. */
  onChange(renewed: (credentials: Credentials) => void): void;
}

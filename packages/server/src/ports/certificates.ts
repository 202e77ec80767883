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

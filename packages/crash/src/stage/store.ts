/** The PostgreSQL under test, as something that can be killed. */
export interface StoreUnderTest {
  /** What the server is to be started with. */
  serverEnv: Record<string, string>;
  /** SIGKILL of its postmaster, be it coming up. @param tell hears the process id before the signal is sent */
  kill(tell: (pid: number) => void): Promise<void>;
  /** Brings it back where nobody else does. @returns when it takes connections */
  revive(): Promise<void>;
  /** After the server has stopped. */
  stop(): Promise<void>;
}

/** The PostgreSQL under test, as something that can be killed. The program that started PostgreSQL starts it again. */
export interface StoreUnderTest {
  /** Settings for the start of the server. */
  serverEnv: Record<string, string>;
  /** SIGKILL of its postmaster, be it coming up. @param tell hears the process id before the signal is sent */
  kill(tell: (pid: number) => void): Promise<void>;
  /** To be called after the server has stopped. */
  stop(): Promise<void>;
}

import type { StoreUnderTest } from "./store.ts";
export async function ownStore(_folder: string): Promise<StoreUnderTest> {
  throw new Error("wait");
}

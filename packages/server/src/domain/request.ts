export type { RequestState } from "@mainspring/contract/enums";

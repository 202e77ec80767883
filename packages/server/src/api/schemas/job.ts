/** Types of the contract for `job-intake.ts`. */
export type { DeduplicatedBody, JobSubmission, SubmittedBody } from "@mainspring/contract";

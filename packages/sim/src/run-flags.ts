/**
 * For processes that run simulations. What is alive while a simulation begins is unlike all that comes after: from it the
 * engine concludes that messages live long, and puts each of them where collecting it is dear: a quarter of the time.
 */
export const RUN_FLAGS: string[] = ["--no-allocation-site-pretenuring"];

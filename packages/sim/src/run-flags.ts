/**
 * For processes that run simulations. Objects that live while a simulation begins are unlike all later ones: the engine
 * concludes from them that messages live long, and puts each of them where collecting it is dear: a quarter of the
 * time.
 */
export const RUN_FLAGS: string[] = ["--no-allocation-site-pretenuring"];

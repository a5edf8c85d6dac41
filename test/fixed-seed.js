import fc from "fast-check";

// A change is judged by the same cases at every run; the nightly looks for new ones.
if (process.env.SVC_NIGHTLY !== "1") fc.configureGlobal({ seed: 20_261_124 });

import { implementations } from "./stores-under-test.js";
import { waitStoreContract } from "./wait-store.contract.js";

for (const [name, start] of implementations) waitStoreContract(name, start);

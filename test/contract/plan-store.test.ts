import { planStoreContract } from "./plan-store.contract.js";
import { implementations } from "./stores-under-test.js";

for (const [name, start] of implementations) planStoreContract(name, start);

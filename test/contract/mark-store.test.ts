import { markStoreContract } from "./mark-store.contract.js";
import { implementations } from "./stores-under-test.js";

for (const [name, start] of implementations) markStoreContract(name, start);

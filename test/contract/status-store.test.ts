import { statusStoreContract } from "./status-store.contract.js";
import { implementations } from "./stores-under-test.js";

for (const [name, start] of implementations) statusStoreContract(name, start);

import type { ApplicationName } from "../model/brand.js";
import type { ChangeRequestRef } from "../model/change-request.js";
import type { Deployment } from "../model/deployment.js";

/** Records "deployed, not merged": one per application and change request. */
export interface DeploymentStore {
  save(deployment: Deployment): Promise<void>;
  remove(application: ApplicationName, change: ChangeRequestRef): Promise<void>;
  ofApplication(application: ApplicationName): Promise<readonly Deployment[]>;
  ofChange(change: ChangeRequestRef): Promise<readonly Deployment[]>;
  list(): Promise<readonly Deployment[]>;
}

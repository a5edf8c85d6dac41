import {
  Branches,
  Commits,
  GroupMembers,
  MergeRequestApprovals,
  MergeRequestNoteAwardEmojis,
  MergeRequestNotes,
  MergeRequests,
  ProjectMembers,
  Projects,
  Repositories,
  Users,
} from "@gitbeaker/rest";

type ResourceOptions = ConstructorParameters<typeof MergeRequests<false>>[0];

/** The resources of the API that we use; each is made when it is asked for, since gitbeaker makes all of its hundreds at once. */
export class GitLabApi {
  constructor(private readonly options: ResourceOptions) {}

  get branches(): Branches {
    return new Branches(this.options);
  }

  get commits(): Commits {
    return new Commits(this.options);
  }

  get groupMembers(): GroupMembers {
    return new GroupMembers(this.options);
  }

  get mergeRequestApprovals(): MergeRequestApprovals {
    return new MergeRequestApprovals(this.options);
  }

  get mergeRequestNoteAwardEmojis(): MergeRequestNoteAwardEmojis {
    return new MergeRequestNoteAwardEmojis(this.options);
  }

  get mergeRequestNotes(): MergeRequestNotes {
    return new MergeRequestNotes(this.options);
  }

  get mergeRequests(): MergeRequests {
    return new MergeRequests(this.options);
  }

  get projectMembers(): ProjectMembers {
    return new ProjectMembers(this.options);
  }

  get projects(): Projects {
    return new Projects(this.options);
  }

  get repositories(): Repositories {
    return new Repositories(this.options);
  }

  get users(): Users {
    return new Users(this.options);
  }
}

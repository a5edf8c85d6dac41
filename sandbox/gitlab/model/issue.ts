/** An issue, which exists only for comments. */
export interface Issue {
  readonly id: number;
  readonly iid: number;
  readonly authorId: number;
  readonly title: string;
  readonly createdAt: Date;
}

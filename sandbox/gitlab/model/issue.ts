/** Issues exist only to be commented on. */
export interface Issue {
  readonly id: number;
  readonly iid: number;
  readonly authorId: number;
  readonly title: string;
  readonly createdAt: Date;
}

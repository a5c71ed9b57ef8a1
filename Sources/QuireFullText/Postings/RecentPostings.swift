// What was changed of one term beside its blocks.

internal import QuireDatabase

/// Gathers what was changed of a term beside its blocks.
struct RecentPostings {
  let form: PostingForm
  private(set) var added = PostingList()
  private(set) var removed: [RowID] = []

  init(_ form: PostingForm) { self.form = form }

  /// Takes an entry of `recent`; false if it breaks the format.
  mutating func take(_ key: RecentKey, _ value: RawSpan) -> Bool {
    guard key.isAdded else {
      removed.append(key.row)
      return value.byteCount == 0
    }
    return RecentCodec.decode(value, row: key.row, form, to: &added)
  }
}

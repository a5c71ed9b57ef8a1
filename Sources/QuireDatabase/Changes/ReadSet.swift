// What a read has read, and whether a commit has changed any of it.

internal import QuireStorage

/// The keys from `lower` up to `upper`, which is not among them; nil means to the last. Compared by their bytes.
struct KeyInterval: Hashable, Sendable {
  let lower: [UInt8]
  let upper: [UInt8]?

  func contains(_ key: String) -> Bool {
    if key.utf8.lexicographicallyPrecedes(lower) { return false }
    guard let upper else { return true }
    return key.utf8.lexicographicallyPrecedes(upper)
  }
}

/// What was read of one collection. The halves say which halves of rows were looked at; with none of them, only
/// whether there are such rows.
struct CollectionReads: Sendable {
  /// Rows that were asked for by their keys, also in vain.
  var keys: [ByteString: RowHalves] = [:]
  /// Parts that were counted or walked through.
  var intervals: [KeyInterval: RowHalves] = [:]
  /// The collection as a whole; nil if only parts of it were read.
  var whole: RowHalves?

  /// Reads everything, at least in these halves.
  mutating func takeWhole(_ halves: RowHalves) { whole = (whole ?? []).union(halves) }

  /// Whether a change of a row changes what was read.
  func isConcerned(by row: RowSummary, _ key: ByteString) -> Bool {
    if let whole, row.changes(whole) { return true }
    if let halves = keys[key], row.changes(halves) { return true }
    return intervals.contains { row.changes($0.value) && $0.key.contains(key.string) }
  }

  /// Whether changes of the collection change what was read.
  func isConcerned(by changes: ChangeIndex.Collection) -> Bool {
    if changes.isCleared { return true }
    guard whole == nil, intervals.isEmpty, keys.count < changes.rows.count else {
      return changes.rows.contains { isConcerned(by: $0.value, $0.key) }
    }
    return keys.contains { changes.rows[$0.key]?.changes($0.value) ?? false }
  }
}

extension RowSummary {
  /// Whether what happened shows in the halves `read` of the row, or in whether there is one.
  func changes(_ read: RowHalves) -> Bool { isInserted || isRemoved || !halves.isDisjoint(with: read) }
}

/// All that one run of a closure has read. It says too much rather than too little.
struct ReadSet: Sendable {
  var collections: [ByteString: CollectionReads] = [:]
  /// The extensions that were asked for, by name.
  var extensions: Set<ByteString> = []
  /// Those of them of which everything counts as read.
  var wholeExtensions: Set<ByteString> = []
  /// What was read of the trees of the others.
  var parts: [ByteString: ExtensionParts] = [:]
  /// Whether the result depends on which extensions there are: some were looked for by their type.
  var hasReadRegistrations = false
  /// Whether the list of collections was read.
  var hasReadNames = false
  /// Whether something was read that depends on which rows there are in any collection.
  var hasReadAllRows = false

  /// Whether the commit has changed what was read.
  func isConcerned(by commit: Commit) -> Bool {
    let (changes, scope) = (commit.changes, commit.scope)
    if changes.isUnknown { return true }
    if scope.extensions.contains(where: { extensions.contains($0) && hasRead($0, scope) }) { return true }
    if commit.extensionChanges.keys.contains(where: wholeExtensions.contains) { return true }
    if hasReadRegistrations, !scope.restarted.isEmpty { return true }
    if hasReadNames, scope.hasChangedNames { return true }
    return changes.concerns(self)
  }

  /// Whether something was read of an extension that a commit has changed.
  private func hasRead(_ name: ByteString, _ scope: CommitScope) -> Bool {
    guard !wholeExtensions.contains(name), let changed = scope.changedParts[name], let read = parts[name] else {
      return true
    }
    return read.overlaps(changed)
  }
}

extension ChangeSet {
  /// Whether rows were changed that `reads` has read.
  func concerns(_ reads: ReadSet) -> Bool {
    guard mayConcern(reads) else { return false }
    return ask { index in
      if index.isAllCleared { return reads.hasReadAllRows || !reads.collections.isEmpty }
      if reads.hasReadAllRows, index.collections.values.contains(where: \.hasChangedRowCount) { return true }
      if index.collections.count < reads.collections.count {
        return index.collections.contains { reads.collections[$0.key]?.isConcerned(by: $0.value) ?? false }
      }
      return reads.collections.contains { index.collections[$0.key].map($0.value.isConcerned) ?? false }
    }
  }
}

extension ChangeIndex.Collection {
  /// Whether rows came or went.
  fileprivate var hasChangedRowCount: Bool { isCleared || rows.values.contains { $0.isInserted || $0.isRemoved } }
}

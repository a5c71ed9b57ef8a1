// What reading a damaged database tells: what of it was usable, which trees and entries there are, and what is lost.

/// What may be believed and delivered.
package struct SalvageOptions: Sendable {
  /// Whether pages and long values that no checksum proves are believed if their structure holds. What they give is
  /// marked `unverified`.
  package var believesUnverified: Bool
  /// Whether entries are delivered that may be older than the newest state. They are marked `mayBeOld`.
  package var includesStale: Bool

  /// The usual choice: nothing without proof, and old entries where the newest are lost.
  package init(believesUnverified: Bool = false, includesStale: Bool = true) {
    self.believesUnverified = believesUnverified
    self.includesStale = includesStale
  }
}

/// How much an entry can be trusted.
package enum SalvageStanding: Sendable {
  /// It is verified, and of the newest state that the files prove.
  case current
  /// It is verified, from a page that the newest state does not vouch for: it may have been changed or deleted since,
  /// or be of a large transaction that never committed.
  case mayBeOld
  /// No checksum proves it.
  case unverified
}

/// What the files of a damaged database could be read by.
package struct SalvageSource: Sendable {
  /// What the trees were found through.
  package enum Basis: Sendable {
    /// The newest meta page that the files tell of.
    case newestMetaPage
    /// A meta page, where the other one is damaged or leads nowhere, and may be the newer of the two.
    case otherMetaPage
    /// No meta page: the database's identity was found elsewhere, and all pages were looked at.
    case pages
    /// Not even the identity: nothing has been proven.
    case structure
  }

  /// The path of the data file.
  package let path: String
  /// What the trees were found through.
  package let basis: Basis
  /// What the two slots for meta pages hold.
  package let metaPages: [MetaPage.Decoded]
  /// The meta page that is gone by; nil if neither can be.
  package let meta: MetaPage?
  /// The identity, on which all checksums depend; nil if it is not known.
  package let databaseID: DatabaseID?
  /// The size of a page.
  package let pageSize: Int
  /// How many pages the file has in full.
  package let pageCount: UInt64
  /// Whether the free map could be read, which tells current pages from old ones.
  package let hasFreeMap: Bool
  /// The commit whose state is delivered, as far as that is known: that of the meta page, or of the last log record
  /// that was applied.
  package let csn: CSN
  /// The end of the log that was applied; nil if none was.
  package let logEnd: LSN?
  /// How many commits were applied from the log.
  package let logCommitCount: Int
  /// The row id that is given next, as far as meta page and log tell; at least 1.
  package let nextRowID: Int64
}

/// A tree to be read.
package struct SalvagedTree: Sendable {
  /// Its id, never given twice.
  package let id: TreeID
  /// Its name; nil if what the catalog said of it is lost.
  package let name: String?
  /// What its keys are.
  package let keyKind: KeyKind
  /// How many entries the data file should have of it, before the log; nil if that is lost.
  package let count: Int?
  /// Whether what leads to it is of the newest state: then a key outside its losses that is not delivered is not there.
  package let isCurrent: Bool
}

/// An entry as it is delivered; valid only during the call that delivers it.
package struct SalvagedEntry {
  /// The key's bytes; of an integer key the eight bytes of its ordered form, the highest first.
  package let key: UnsafeRawBufferPointer
  /// The key, if it is an integer.
  package let integerKey: Int64?
  /// The whole value.
  package let value: UnsafeRawBufferPointer
  /// How much it can be trusted.
  package let standing: SalvageStanding
}

/// Something that is lost, or not as new as it should be.
package struct SalvageLoss: Sendable {
  /// What is lost.
  package enum Kind: Sendable {
    /// A part of the catalog: trees, or their names.
    case catalog
    /// A range of a tree's keys: what of it is not delivered.
    case range
    /// One entry, whose long value is damaged.
    case value
    /// Commits that the log no longer proves.
    case log
    /// A meta page: if it was the newer one, what came after the other is lost.
    case metaPage
  }

  /// What is lost.
  package let kind: Kind
  /// The tree; nil where it is not one tree.
  package let tree: TreeID?
  /// The page that is damaged, where it is one page.
  package let page: PageNumber?
  /// The least key that may be lost, in the form of `SalvagedEntry.key`; nil: from the first key on.
  package internal(set) var lower: [UInt8]?
  /// What lost keys are below; nil: to the last key.
  package internal(set) var upper: [UInt8]?
  /// How many entries are lost, if that is known.
  package internal(set) var count: Int?
  /// How many entries of the range have been delivered that may be old.
  package internal(set) var staleCount = 0
  /// Why, in words for people.
  package let reason: String
}

/// Losses in the order they were found, with a limit.
struct SalvageLossList {
  private(set) var losses: [SalvageLoss] = []
  /// Where those of a tree are.
  private var ranges: [TreeID: Range<Int>] = [:]
  /// Beyond so many, what is lost of a tree becomes one range.
  private static let limit = 100_000

  /// Adds a loss; those of one tree follow each other.
  mutating func add(_ loss: SalvageLoss) {
    guard losses.count >= Self.limit, let last = losses.last, last.tree == loss.tree else {
      losses.append(loss)
      guard let tree = loss.tree else { return }
      let start = ranges[tree]?.lowerBound ?? losses.count - 1
      ranges[tree] = start..<losses.count
      assert(losses[start].tree == tree, "the losses of a tree do not follow each other")
      return
    }
    var wide = last
    if let lower = wide.lower, loss.lower.map({ SalvageKey.compare($0, lower) < 0 }) ?? true { wide.lower = loss.lower }
    if let upper = wide.upper, loss.upper.map({ SalvageKey.compare($0, upper) > 0 }) ?? true { wide.upper = loss.upper }
    wide.count = wide.count.flatMap { (count) -> Int? in
      guard let more = loss.count else { return nil }
      // Both are from the file.
      let (sum, overflows) = count.addingReportingOverflow(more)
      return overflows ? nil : sum
    }
    wide.staleCount += loss.staleCount
    losses[losses.count - 1] = wide
  }

  /// The losses of a tree. O(1).
  func losses(of tree: TreeID) -> ArraySlice<SalvageLoss> { losses[ranges[tree] ?? 0..<0] }
}

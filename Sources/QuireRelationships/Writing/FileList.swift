// The files that a relationship is to delete after the commit.

internal import QuireDatabase

/// A file to be deleted now, and how.
struct DueFile {
  let claim: FileClaim
  /// How an app wants it; nil if as usual.
  let remove: (@Sendable (String) throws -> Void)?
  /// Makes the names in a folder durable.
  let synchronizeFolder: @Sendable (String) throws -> Void

  var path: String { String(decoding: claim.path, as: UTF8.self) }

  /// Deletes files, so that no power cut brings back those that are deleted as usual: each of their folders is synced
  /// once. What cannot be deleted, or not durably, stays due.
  static func remove(_ files: [DueFile]) {
    var folders: [String: [DueFile]] = [:]
    for file in files {
      file.claim.run { try (file.remove ?? FileRemoval.unlinkName)(file.path) }
      if file.remove == nil, file.claim.isDone { folders[FileRemoval.folder(of: file.path), default: []].append(file) }
    }
    for (folder, files) in folders {
      do { try files[0].synchronizeFolder(folder) } catch { for file in files { file.claim.leave() } }
    }
  }
}

/// The list of files whose last edge has gone, in a tree, until they are deleted; see `FileDeletion`.
///
/// Invariant: what this transaction has put on the list is announced to `FileClaims`, and so is every edge that keeps a
/// file.
final class FileList {
  private let trees: EdgeTrees
  private let paths: ExtensionTree<[UInt8]>
  private let settings: RelationshipSettings
  private let deleteFiles: @Sendable (Database) -> Void
  /// Whether this transaction has put files on the list.
  private var hasNew = false

  init(
    _ trees: EdgeTrees, _ settings: RelationshipSettings, _ deleteFiles: @escaping @Sendable (Database) -> Void
  ) throws {
    self.trees = trees
    self.deleteFiles = deleteFiles
    self.settings = settings
    paths = try trees.store.tree("files", of: [UInt8].self)
  }

  /// An edge comes, or its rules change: a file that it keeps must not be deleted any more.
  func willPut(_ edge: StoredEdge) {
    guard case .file(let path) = edge.destination, !edge.rules.isDisjoint(with: .keeping) else { return }
    FileClaims.shared.willKeep(path, trees.store.database)
  }

  /// Puts a file on the list of those that are to be deleted after the commit.
  func append(_ path: [UInt8]) throws {
    FileClaims.shared.noteDue(path, trees.store.database)
    try paths.put([], for: path)
    hasNew = true
  }

  /// Takes a file off the list.
  func remove(_ path: [UInt8]) throws { try paths.remove(path) }

  /// Has what was put on the list deleted after the commit.
  func settle() throws {
    guard hasNew else { return }
    let (database, deleteFiles) = (trees.store.database, deleteFiles)
    try trees.transaction().onCommit { deleteFiles(database) }
  }

  /// Claims the next files of the list that no edge of `writers` keeps, and takes the others off it. Returns the last
  /// one's path; nil if there was none.
  func claim(
    after last: [UInt8]?, _ writers: [RelationshipWriter], _ database: Database, _ due: inout [DueFile]
  ) throws -> [UInt8]? {
    let cursor = try paths.cursor()
    var batch: [[UInt8]] = []
    var isOnEntry = try last.map { try cursor.seek($0 + [0]) } ?? cursor.seekFirst()
    while isOnEntry, batch.count < EdgeLimits.fileBatchCount, let path = cursor.key {
      batch.append(path)
      isOnEntry = try cursor.next()
    }
    for path in batch {
      if try writers.contains(where: { try $0.trees.keepsFile(path) }) {
        try paths.remove(path)
      } else if let claim = FileClaims.shared.claim(path, database) {
        // Another thread may be at the others.
        due.append(
          DueFile(
            claim: claim, remove: settings.removeFile, synchronizeFolder: settings.synchronizeFolder))
      }
    }
    return batch.last
  }
}

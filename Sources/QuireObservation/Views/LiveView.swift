// A view on a screen: sections, rows page by page, and what changed.

public import Observation
public import QuireDatabase
public import QuireViews

/// What mappings show of a view, kept up to date, of which only the rows are decoded that are asked for.
///
/// ```swift
/// let albums = try LiveView(db, byAlbum, ViewMappings(byAlbum))
/// for section in albums.sections {
///   for row in albums.rows(inSection: section.index).prefix(20) { print(row.object?.title ?? "") }
/// }
/// ```
///
/// It stands on a pinned snapshot of its own, so that sections, rows and change sets fit each other, and goes on with
/// commits that change the view: on the main actor, in one step for all that were committed since the last one, with
/// `minimumInterval` between steps. A step costs as `PinnedSnapshot.advance(_:)`; rows that a step does not show cost
/// nothing. A commit that changes nothing on the screen is not told.
///
/// While the view is not registered, or is being built, `isReady` is false and nothing is shown; what is registered
/// under its name in another version or kind is told by `error` besides. When it is there, it is shown with a reload.
/// So is everything when the database is resumed, if a step or a row could not be read as it was suspended.
///
/// Ends, and `isLive` says so, with `stop()`, and when a failed write has stopped all writing, which `error` tells
/// then; what is shown stays. Lets go of everything, the snapshot too, when nobody holds it any more, nor rows of it:
/// until then the database cannot be closed, as with any pinned snapshot.
///
/// Invariants: the mappings stand at the snapshot unless a step has failed, which the next one makes good with a
/// reload; nothing is shown unless `isReady`; there is a task if and only if `isLive`, and a resumption is waited for
/// only then.
///
/// The guides are <doc:SwiftUI> and <doc:Views>.
@MainActor @Observable
public final class LiveView<Object: Sendable, Metadata: Sendable> {
  /// A section on the screen.
  public struct Section: Identifiable, Hashable, Sendable {
    /// Its place.
    public let index: Int
    /// The group that it shows, or the name of the section of all groups.
    public let group: String
    /// How many rows it has.
    public let count: Int
    /// The group's name.
    public var id: String { group }
  }

  /// What the newest step changed: a reload for the first one, and whenever all is to be drawn anew.
  public private(set) var changes: ViewDiff
  /// Whether the snapshot shows the view.
  public private(set) var isReady = false
  /// Why the view cannot be shown, or what a step or the database has failed with; nil while all is well.
  public private(set) var error: (any Error)?
  /// Whether commits are followed.
  public private(set) var isLive = false
  /// Called on the main actor with each change set, after `rows` and `sections` show what it leads to: for lists that
  /// take each of them once, in order.
  @ObservationIgnored public var onChanges: (@MainActor (ViewDiff) -> Void)?

  @ObservationIgnored private let database: Database
  @ObservationIgnored private let minimumInterval: Duration
  @ObservationIgnored private let snapshot: PinnedSnapshot
  @ObservationIgnored private let source: LiveViewSource<Object, Metadata>
  @ObservationIgnored private var standing: ViewMappings
  @ObservationIgnored private var pages: ViewPages<Object, Metadata>
  @ObservationIgnored private var needsReload = false
  @ObservationIgnored private var task: Task<Void, Never>?
  /// Waits for the end of a suspension that a read has met.
  @ObservationIgnored private var resumption: Task<Void, Never>?

  /// Shows a view by mappings, as the newest snapshot has it.
  ///
  /// - Parameters:
  ///   - database: where the view is registered, or will be.
  ///   - view: the view.
  ///   - mappings: which groups are sections, and which of their rows are shown.
  ///   - minimumInterval: what lies between two steps at the least: a frame of a screen, unless another one is given.
  /// - Throws: `closed`, `limitReached` as `Database.pin()`; what reading the view throws, but for `extensionMismatch`,
  ///   `extensionNotRegistered` and `extensionNotReady`, which the object tells.
  public init(
    _ database: Database, _ view: some ViewExtension<Object, Metadata>, _ mappings: ViewMappings,
    minimumInterval: Duration = .milliseconds(16)
  ) throws {
    // The stream first: no commit may fall between the two.
    let commits = database.commits(tellingRegistrations: true)
    let snapshot = try database.pin()
    let source = LiveViewSource(view)
    var standing = mappings
    changes = try snapshot.read { tx in try standing.reload(tx) }
    (self.database, self.snapshot, self.source, self.standing) = (database, snapshot, source, standing)
    self.minimumInterval = minimumInterval
    pages = ViewPages(snapshot, source, standing)
    watch(pages)
    note(try source.state(in: snapshot))
    begin(commits)
  }

  /// Shows some groups of a view, each as a section, in this order.
  public convenience init(
    _ database: Database, _ view: some ViewExtension<Object, Metadata>, groups: [String]
  ) throws {
    try self.init(database, view, ViewMappings(view, groups: groups))
  }

  deinit {
    task?.cancel()
    resumption?.cancel()
  }

  // MARK: What is shown

  /// The mappings as they stand: counts, windows, and the way between places and groups.
  public var mappings: ViewMappings {
    // What is drawn of them changes with the change set alone.
    _ = changes
    return standing
  }

  /// The sections, in their order. O(sections).
  public var sections: [Section] {
    let mappings = mappings
    guard isReady else { return [] }
    return mappings.visibleGroups.enumerated().map { index, group in
      Section(index: index, group: group, count: mappings.count(inSection: index))
    }
  }

  /// The number of rows of all sections.
  public var count: Int { isReady ? mappings.count : 0 }

  /// The rows of a section, decoded page by page as they are asked for; none for a section that does not exist.
  public func rows(inSection section: Int) -> LiveRows<Object, Metadata> {
    let count = isReady ? mappings.count(inSection: section) : 0
    return LiveRows(pages: pages, section: section, count: count)
  }

  /// The row at a place; nil if there is none. Decodes its page, unless that was shown before.
  public func row(at path: ViewPath) -> LiveViewRow<Object, Metadata>? {
    let rows = rows(inSection: path.section)
    return rows.indices.contains(path.row) ? rows[path.row] : nil
  }

  /// Where a row stands on the screen; nil if it does not show it. O(log n), decodes nothing.
  ///
  /// - Throws: what reading the view throws.
  public func path(of key: RowKey) throws -> ViewPath? {
    let mappings = mappings
    guard isReady else { return nil }
    return try source.path(of: key, mappings, in: snapshot)
  }

  /// Changes mappings: windows, reversals, what is hidden or put together. What is shown is loaded anew, in the newest
  /// snapshot.
  public func updateMappings(_ change: (inout ViewMappings) -> Void) {
    change(&standing)
    needsReload = true
    step()
  }

  /// Goes on to the newest snapshot now, and begins to follow commits again after `stop()`.
  public func refresh() {
    if !isLive { begin(database.commits(tellingRegistrations: true)) }
    step()
  }

  /// Follows commits no more. What is shown stays, and so does its snapshot.
  public func stop() {
    task?.cancel()
    resumption?.cancel()
    (task, resumption) = (nil, nil)
    if isLive { isLive = false }
    checkInvariants()
  }

  // MARK: Steps

  private func begin(_ commits: CommitStream) {
    task?.cancel()
    task = Task.detached { [weak self, name = standing.viewName, snapshot, minimumInterval] in
      var iterator = commits.makeAsyncIterator()
      do {
        while let commit = try await iterator.next() {
          // A step may have taken it along. One that only touched rows has the number of the commit before it.
          guard commit.csn >= snapshot.csn, commit.concerns(viewNamed: name) else { continue }
          await self?.stepIfLive()
          try await Task.sleep(for: minimumInterval)
        }
        await self?.end(nil)
      } catch {
        await self?.end(error)
      }
    }
    if !isLive { isLive = true }
    checkInvariants()
  }

  private func stepIfLive() {
    if isLive, !Task.isCancelled { step() }
  }

  /// Goes on to the newest snapshot.
  private func step() {
    do {
      var next = standing
      let diff: ViewDiff
      if needsReload {
        diff = try snapshot.advance { _, tx in try next.reload(tx) }
      } else {
        diff = try snapshot.advance(&next)
      }
      let state = try source.state(in: snapshot)
      needsReload = false
      standing = next
      guard !diff.isEmpty || state.isReady != isReady || (state.mismatch == nil) != (error == nil) else {
        return pages.goOn(to: next)
      }
      pages = ViewPages(snapshot, source, next)
      watch(pages)
      note(state)
      changes = diff
      onChanges?(diff)
    } catch {
      needsReload = true
      self.error = error
      if (error as? DatabaseError)?.code == .suspended { reloadWhenResumed() }
    }
    checkInvariants()
  }

  // MARK: Suspensions

  /// Rows that are asked for while the database is suspended are shown when it is not any more.
  private func watch(_ pages: ViewPages<Object, Metadata>) {
    pages.onSuspension { [weak self] in Task { @MainActor in self?.reloadWhenResumed() } }
  }

  /// A read has met a suspension, and nothing else may tell when there is something to show again.
  private func reloadWhenResumed() {
    needsReload = true
    guard isLive, resumption == nil else { return }
    resumption = Task.detached { [weak self, database] in
      do {
        // It is about to be suspended, and waits for a transaction; or is not any more.
        if !database.isSuspended { try await Task.sleep(for: .milliseconds(5)) }
        try await database.waitUntilResumed()
        await self?.stepAfterResumption()
      } catch {
        // Somebody has stopped it, or the database was closed, which the stream of commits tells.
      }
    }
  }

  private func stepAfterResumption() {
    guard !Task.isCancelled else { return }
    resumption = nil
    stepIfLive()
  }

  private func note(_ state: LiveViewSource<Object, Metadata>.State) {
    if isReady != state.isReady { isReady = state.isReady }
    if error != nil || state.mismatch != nil { error = state.mismatch }
  }

  /// Nothing more will come.
  private func end(_ failure: (any Error)?) {
    guard !Task.isCancelled, isLive else { return }
    resumption?.cancel()
    (task, resumption) = (nil, nil)
    if let failure { error = failure }
    isLive = false
    checkInvariants()
  }

  /// Stops the process, in debug builds, if the invariants at the head of the type do not hold.
  func checkInvariants() {
    assert((task != nil) == isLive, "who follows has a task, and nobody else")
    assert(isLive || resumption == nil, "a resumption is waited for by nobody")
    assert(needsReload || standing.csn == snapshot.csn.rawValue, "the mappings stand elsewhere than the snapshot")
  }
}

extension Commit {
  /// Whether it may have changed what a view shows.
  fileprivate func concerns(viewNamed name: String) -> Bool {
    changes.isUnknown || restarts(extensionNamed: name) || changes(ofExtensionNamed: name) != nil
  }
}

// Work that takes long, traced, and seen among those who hold snapshots.

internal import QuireStorage

/// Work that takes long, as a span; and the snapshot that it holds, if it does.
struct LongWork: Sendable {
  let span: TransactionSpan
  private let core: DatabaseCore
  private let holder: SnapshotHolder?

  /// - Parameter name: that of the span; it stands for the place in the code, too.
  init(
    _ core: DatabaseCore, _ name: StaticString, holdsSnapshot: Bool = false, in parent: SpanContext = .current
  ) {
    self.core = core
    let site = CallSite(fileID: name, line: 0)
    span = TransactionSpan(named: "\(name)", core.diagnostics.label, site, in: parent)
    holder = holdsSnapshot ? core.holders.add() : nil
    holder?.hold(core.publishedCSN, .work, site, .none)
  }

  /// Runs `body` as the work, to its end.
  func run<Result>(_ body: () throws -> Result) throws -> Result {
    do {
      let result = try span.run(body)
      end(nil)
      return result
    } catch {
      end(error)
      throw error
    }
  }

  /// The same for work that is awaited.
  func run<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      let result = try await span.run(body)
      end(nil)
      return result
    } catch {
      end(error)
      throw error
    }
  }

  /// The work has ended.
  func end(_ error: (any Error)?) {
    if let holder { core.holders.remove(holder) }
    span.end(error)
  }
}

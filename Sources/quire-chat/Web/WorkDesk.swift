// Long work that requests start and pages watch: one of a kind at a time.

#if Example
  import Foundation

  /// Runs long work in tasks of its own and tells pages how far it is.
  actor WorkDesk {
    private var running: Set<String> = []

    /// What is under way at the moment.
    var underWay: [String] { running.sorted() }

    /// Starts work in a task of its own.
    ///
    /// - Throws: `ChatError.busy` if some of that name is under way.
    func start(
      _ name: String, _ hub: EventHub,
      _ body: @escaping @Sendable (_ progress: @escaping @Sendable (Int, Int) throws -> Void) async throws -> Void
    ) throws {
      guard running.insert(name).inserted else { throw ChatError.busy(name) }
      Task {
        let problem: String?
        do {
          try await body { done, total in
            Task {
              await hub.tell(.progress(work: name, done: done, total: total, isOver: false, problem: nil))
            }
          }
          problem = nil
        } catch {
          problem = "\(error)"
        }
        running.remove(name)
        await hub.tell(.progress(work: name, done: 0, total: 0, isOver: true, problem: problem))
      }
    }
  }
#endif

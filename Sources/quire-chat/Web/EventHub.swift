// Tells open pages what has changed: one reader of the database's commits, any number of listeners.

#if Example
  import FlyingFox
  import Foundation
  import Quire

  /// Hands events to everybody who listens at the moment.
  ///
  /// A listener that does not keep up loses the oldest of 64 events and is told that everything may have changed:
  /// nothing grows for its sake.
  actor EventHub: WSHandler {
    private var listeners: [UUID: AsyncStream<WSFrame>.Continuation] = [:]

    /// Follows the commits of a store until the task is cancelled.
    func follow(_ store: ChatStore, _ commits: CommitStream) async throws {
      for try await commit in commits {
        let changes = commit.changes
        if changes.hasChanges(in: .rooms) || changes.didClearAll || changes.isUnknown { tell(.rooms) }
        let rooms = Set(
          changes.changedKeys(in: .messages).compactMap { $0.split(separator: "/").first.map(String.init) })
        if !rooms.isEmpty { tell(.messages(roomIDs: rooms.sorted())) }
      }
    }

    func tell(_ event: ChatEvent) {
      guard let text = try? JSONEncoder().encode(event) else { return }
      for (id, listener) in listeners {
        switch listener.yield(Self.frame(text)) {
        case .dropped: listener.yield(Self.frame(Data(#"{"rooms":{}}"#.utf8)))
        case .terminated: listeners[id] = nil
        default: break
        }
      }
    }

    private static func frame(_ content: Data, _ opcode: WSFrame.Opcode = .text) -> WSFrame {
      WSFrame(fin: true, opcode: opcode, mask: nil, payload: content)
    }

    /// A page that listens: it says nothing itself, and gets events until it goes.
    ///
    /// Frames are read here, as all that counts of a closing one is that it came.
    func makeFrames(for client: AsyncThrowingStream<WSFrame, any Error>) async throws -> AsyncStream<WSFrame> {
      let id = UUID()
      let (stream, listener) = AsyncStream.makeStream(of: WSFrame.self, bufferingPolicy: .bufferingNewest(64))
      listeners[id] = listener
      Task {
        // A connection that breaks ends as one that is closed.
        try? await answer(client, listener)
        listeners.removeValue(forKey: id)?.finish()
      }
      return stream
    }

    /// Answers what keeps a connection alive, until it is closed.
    private func answer(
      _ client: AsyncThrowingStream<WSFrame, any Error>, _ listener: AsyncStream<WSFrame>.Continuation
    ) async throws {
      for try await frame in client {
        switch frame.opcode {
        case .ping: listener.yield(Self.frame(frame.payload, .pong))
        case .close:
          listener.yield(.close())
          return
        default: break
        }
      }
    }
  }
#endif
